// A tape of scalars as a table: forward appends nodes, backward adds to the gradients.
'use strict';

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
