// The lessons of a page of the documentation: scalars, tapes and gradient checks.
'use strict';

// A tape of scalars as a table: forward appends nodes, backward adds to the gradients.
class ScalarLesson {
  constructor(view, {nodes}) {
    this.nodes = nodes;
    const numbers = nodes.map((_, i) => i), place = (pass) => (i) => ({pass, node: {id: i, op: 'scalar'}});
    const positions = [...numbers.map(place('forward')), ...[...numbers].reverse().map(place('backward'))];
    const placeOf = (id, pass) => pass === 'forward' ? id : positions.length - 1 - id;
    this.walk = new Walk({positions, forwards: nodes.length, placeOf}, (position) => this.show(position));
    this.controls = walkControls(this.walk);
    this.body = element('tbody', {});
    this.update = element('p', {class: 'update', role: 'status'});
    const head = ['node', 'expression', 'value', 'gradient'].map((name) => element('th', {scope: 'col'}, name));
    view.replaceChildren(this.controls.view, element('table', {class: 'scalars'}, element('thead', {},
        element('tr', {}, ...head)), this.body), this.update);
    this.walk.go(0);
  }

  // The gradients after the backward of all nodes down to this one.
  gradientsAfter(last) {
    const gradients = this.nodes.map((_, i) => i === this.nodes.length - 1 ? 1 : 0);
    for (let i = this.nodes.length - 1; i >= last; --i)
      for (const {node, derivative} of this.nodes[i].inputs) gradients[node] += derivative * gradients[i];
    return gradients;
  }

  show({pass, node: {id}}) {
    const {walk, nodes} = this, isForward = pass === 'forward';
    const gradients = isForward ? [] : this.gradientsAfter(id);
    this.controls.number.textContent = walk.text;
    updateButtons(walk, this.controls.buttons);
    this.body.replaceChildren(...nodes.map((node, i) => {
      const isRecorded = !isForward || i <= id, gradient = isForward ? '' : valueText(gradients[i], 7);
      const cells = isRecorded ? [i, node.expression, valueText(node.value, 7), gradient] : [i, '', '', ''];
      return element('tr', {class: i === id ? 'now' : ''}, ...cells.map((cell) => element('td', {}, cell)));
    }));
    const lines = isForward ? this.derivatives(id) : this.updates(id, gradients);
    this.update.replaceChildren(...lines.map((line) => element('span', {}, line, element('br'))));
  }

  name(i) {
    return this.nodes[i].expression.split(' = ')[0];
  }

  derivatives(id) {
    const name = this.name(id);
    if (this.nodes[id].inputs.length === 0) return [`${name} is an input`];
    return this.nodes[id].inputs.map(
        ({node, derivative}) => `d${name}/d${this.name(node)} = ${valueText(derivative, 7)}`);
  }

  updates(id, gradients) {
    const from = this.name(id), {inputs} = this.nodes[id], gradient = valueText(gradients[id], 7);
    if (inputs.length === 0) return [`the gradient of ${from} is complete: ${gradient}`];
    return inputs.map(({node, derivative}) => `gradient[${this.name(node)}] += ` +
        `d${from}/d${this.name(node)} · gradient[${from}] = ${valueText(derivative, 7)} · ${gradient}`);
  }
}

// A small tape: its nodes in a row, and the panel of the current step.

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

// Analytic gradients beside finite differences, element by element.

class GradcheckLesson {
  constructor(view, {checks}) {
    view.replaceChildren(...checks.map((check) => this.view(check)));
  }

  view({title, inputs}) {
    const failed = inputs.filter(({passed}) => !passed).map(({input}) => `d${input}`);
    const verdict = failed.length === 0 ? 'all gradients pass' : `wrong: ${failed.join(', ')}`;
    return element('details', {open: ''}, element('summary', {}, `${title}: ${verdict}`),
                   element('div', {class: 'scroll', tabindex: 0}, this.table(inputs)));
  }

  table(inputs) {
    const head = ['gradient', 'element', 'analytic', 'finite difference', 'error'];
    return element('table', {class: 'agreement'},
                   element('thead', {}, element('tr', {}, ...head.map((name) => element('th', {scope: 'col'}, name)))),
                   element('tbody', {}, ...inputs.flatMap((input) => this.rows(input))));
  }

  rows({input, passed, entries}) {
    return entries.map(({element: index, analytic, numeric, error}) => {
      const cells = [`d${input}`, index, valueText(analytic, 9), valueText(numeric, 9), valueText(error, 2)];
      return element('tr', {class: passed ? '' : 'disagrees-row'}, ...cells.map((cell) => element('td', {}, cell)));
    });
  }
}

// Starts the lessons of a page.

const LESSONS = {scalars: ScalarLesson, tape: TapeLesson, gradcheck: GradcheckLesson};

// The buttons of a walk, with a place for the number of the step.
function walkControls(walk) {
  const labels = {first: '|<', previous: '< previous', next: 'next >', turn: ''};
  const names = {first: 'first step'};
  const buttons = {}, actions = walkActions(walk);
  for (const [name, label] of Object.entries(labels)) {
    buttons[name] = element('button', {type: 'button', ...(names[name] ? {'aria-label': names[name]} : {})}, label);
    buttons[name].addEventListener('click', actions[name]);
  }
  const number = element('output', {});
  return {buttons, number, view: element('div', {class: 'lesson-controls'}, ...Object.values(buttons), number)};
}

// The figures of the page, each with a walk if it has one.
function startLessons() {
  const data = JSON.parse(document.getElementById('data').textContent);
  return [...document.querySelectorAll('.lesson')].map((view) => {
    const lesson = data[view.dataset.lesson];
    return {view, walk: new LESSONS[lesson.kind](view, lesson).walk};
  });
}

const lessons = startLessons();
