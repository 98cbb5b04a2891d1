// A small tape: its nodes in a row, and the panel of the current step.
'use strict';

class TapeLesson {
  constructor(view, data) {
    const step = new Step(data);
    this.step = step;
    this.walk = new Walk(step, (position) => this.show(position));
    this.controls = walkControls(this.walk);
    const section = element('div', {tabindex: -1});
    this.panel = new Panel(section, step, (id) => this.walk.goToNode(id));
    this.items = step.nodes.map((node) => this.item(node));
    const tape = element('ol', {class: 'tape', 'aria-label': 'nodes of the tape'},
                         ...this.items.map((item) => element('li', {}, item)));
    view.replaceChildren(this.controls.view, tape, section);
    this.walk.go(0);
  }

  item(node) {
    const name = `${node.id} ${node.inputs ? node.op : node.name ?? node.op}`;
    if (!node.inputs) return element('span', {class: 'leaf'}, name);
    const button = element('button', {type: 'button'}, name);
    button.addEventListener('click', () => this.walk.goToNode(node.id));
    return button;
  }

  show(position) {
    this.items.forEach((item) => item.removeAttribute('aria-current'));
    const current = this.items[position.node.id];
    current.setAttribute('aria-current', 'step');
    current.className = position.pass;
    this.controls.number.textContent = this.walk.text;
    updateButtons(this.walk, this.controls.buttons);
    this.panel.show(position);
  }
}
