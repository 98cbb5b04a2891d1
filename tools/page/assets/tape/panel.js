// The panel of the current step, and the walk from step to step.
'use strict';

// Tensors that an op computes on the way and does not store, with their titles. Others of node.computed are for the
// arithmetic alone.
const OWN_HEADS = 'of the first head of keys and values in the first segment';

const COMPUTED_TITLES = {
  'own q': `q, ${OWN_HEADS}`,
  'own k': `k, ${OWN_HEADS}`,
  'own v': `v, ${OWN_HEADS}`,
  'S': 'S, the scores before softmax, of the first segment: rows are heads × queries, columns keys',
  'P': 'P = softmax(S), of the first segment, before dropout: rows are heads × queries, columns keys',
  'position scores': 'what the position terms add to the scores: rows are heads × queries, columns keys',
  'keep': 'keep, the factors of dropout',
  'logits': 'logits of the first rows',
  'dlogits': 'dlogits of the first rows, the gradient of the logits',
};

function computedTensors(step, node) {
  const isRotated = node.computed.some(({name}) => name === 'query angles');
  return node.computed.filter(({name}) => COMPUTED_TITLES[name]).map(({name, value}) => {
    const tensor = step.tensor(value), title = COMPUTED_TITLES[name];
    tensor.masked = name === 'S';
    return {name, tensor, title: isRotated && /^own [qk]$/.test(name) ? title.replace(',', ', rotated,') : title};
  });
}

// The current step: formula, operands, gradients, and what becomes final or free.

class Panel {
  // go(node) walks to the op of a node. buckets: null for a step of one rank.
  constructor(section, step, go, buckets = null) {
    Object.assign(this, {section, step, go, buckets});
  }

  show(position) {
    const parts = position.pass === 'forward' ? this.forward(position.node) : this.backward(position);
    this.fill(this.heading(position), this.costs(position), formulaView(this.step, position.node, position.pass),
              ...parts);
  }

  showBuckets() {
    this.fill(...this.buckets.overview());
  }

  fill(...parts) {
    const hadFocus = this.section.contains(document.activeElement);
    this.section.replaceChildren(...parts);
    this.section.scrollTop = 0;
    if (hadFocus) this.section.focus({preventScroll: true});
  }

  heading({pass, node}) {
    const {module = ''} = node;
    return element('h2', {}, element('span', {class: `pass ${pass}`}, pass), ` ${node.op} `,
                   element('small', {}, `node ${node.id}${module === '' ? '' : ` in ${module}`}`));
  }

  costs({pass, node}) {
    const forward = pass === 'forward';
    const facts = [], isMeasured = node.forward_seconds !== undefined;
    if (isMeasured) facts.push(timeText(forward ? node.forward_seconds : node.backward_seconds));
    const flops = forward ? countText(node.flops, 'FLOP') : `about ${countText(2 * node.flops, 'FLOP')}`;
    if (node.flops > 0) facts.push(flops);
    if (forward && isMeasured) facts.push(`keeps ${memoryText(node.saved_bytes)} for backward`);
    const memory = forward ? node.after_forward : node.after_backward;
    if (isMeasured) facts.push(`tensors in memory: ${memoryText(Math.max(0, memory))}`);
    for (const [name, value] of Object.entries(node.attributes)) facts.push(`${name} ${value}`);
    return element('ul', {class: 'facts'}, ...facts.map((fact) => element('li', {}, fact)));
  }

  link(id) {
    return linkButton(this.step.name(id), () => this.go(id));
  }

  // "x = linear (node 5)", with a link.
  operandTitle(name, input) {
    if (input.node === undefined) return [`${name}, a constant`];
    if (this.step.name(input.node) === name) return [this.link(input.node)];
    return [element('span', {}, `${name} = `, this.link(input.node))];
  }

  // sum: of the gradient so far, if the tensor is what a step adds to it.
  card(tensor, name, title, of = null, node = null, sum = null) {
    if (!tensor) return null;
    const explain = explainer(this.step, node, of, tensor, sum);
    return tensorView(tensor, name, element('span', {}, ...[title].flat()), explain);
  }

  group(title, ...cards) {
    const present = cards.flat(Infinity).filter((card) => card !== null && card !== undefined);
    if (present.length === 0) return element('div', {hidden: ''});
    return element('section', {class: 'cards'}, element('h3', {}, title), element('div', {class: 'grid'}, ...present));
  }

  inputs(node) {
    return operandsOf(this.step, node).map(
        ({name, input, value}) => this.card(value, name, this.operandTitle(name, input)));
  }

  saved(node) {
    return node.saved.map(({name, value}) => this.card(this.step.tensor(value), name, name, name, node));
  }

  // What the op computes on the way, and the angles of its rotation.
  computed(node, pass) {
    const cards = computedTensors(this.step, node).map(
        ({name, title, tensor}) => this.card(tensor, name, title, name, node));
    return this.group('Computed on the way, and not stored', ...cards, turnsFigure(this.step, node, pass));
  }

  usersView(node) {
    const users = this.step.users[node.id];
    if (users.length === 0) return element('p', {class: 'note'}, 'No later op uses the output.');
    const links = users.flatMap((id, i) => [i === 0 ? 'used by ' : ', ', this.link(id)]);
    return element('p', {class: 'note'}, ...links);
  }

  forward(node) {
    const [name] = operandNames(node);
    return [
      this.group('Output', this.card(this.step.value(node), name, name, 'output', node)),
      this.usersView(node),
      this.group('Inputs', this.inputs(node)),
      this.computed(node, 'forward'),
      this.group('Saved for backward', this.saved(node)),
    ];
  }

  backward({node, record}) {
    const [name] = operandNames(node), operands = operandsWithGradients(this.step, node);
    return [
      this.ends(node, record),
      this.group('Incoming gradient', this.card(this.step.tensor(node.gradient), `d${name}`, `d${name}`)),
      this.group('Outgoing gradients', operands.map((operand) => this.outgoing(node, record, operand))),
      ...(this.buckets?.gradientGroups(record) ?? []).map(([title, cards]) => this.group(title, cards)),
      this.computed(node, 'backward'),
      this.group('Output', this.card(this.step.value(node), name, name, 'output', node)),
      this.group('Inputs', this.inputs(node)),
      this.group('Saved by forward', this.saved(node)),
    ];
  }

  // The gradient of an input: the contribution of this step and the sum so far, where several paths meet.
  outgoing(node, record, {name, input, number, of}) {
    const final = this.step.tensor(this.step.nodes[input.node].gradient);
    const path = record.paths.find((candidate) => candidate.input === number);
    const title = [element('span', {}, `d${name}, to `, this.link(input.node))];
    if (name === 'bias' && record.bias_done) return this.biasDone(node, final);
    if (!path) return this.card(final, `d${name}`, title, of, node);
    const sum = this.step.tensor(path.sum) ?? final, added = this.step.tensor(path.added) ?? sum;
    const paths = this.step.users[input.node].length;
    const where = `path ${path.number} of ${paths}`;
    if (path.number === 1)
      return this.card(added, `d${name} of this step`, [...title, `, ${where}: what this step adds`], of, node);
    const rounded = `, ${where}: what this step adds, the difference of two rounded sums`;
    const own = this.card(added, `d${name} of this step`, [...title, rounded], of, node, sum);
    return [own, this.card(sum, `sum of d${name}`, `d${name}: the sum of ${path.number} of ${paths} paths`)];
  }

  biasDone(node, final) {
    const user = this.step.users[node.id][0], bias = operandsOf(this.step, node).find(({name}) => name === 'bias');
    const isShared = this.step.users[bias.input.node].length > 1;  // then its gradient has terms of other ops, too
    return this.card(final, 'dbias', [element('span', {}, 'dbias, added by ', this.link(user),
                                              ' in the same pass as its own gradients')],
                     isShared ? null : 'bias', node);
  }

  ends(node, record) {
    const freed = node.after_backward - node.after_release;
    const what = 'what the op saved, its output and its gradient';
    const text = freed > 0 ? `frees ${memoryText(freed)}: ${what}` : 'frees no memory';
    const lines = Number.isNaN(freed) ? [] : [element('li', {}, text)];
    for (const id of record.final) {
      lines.push(element('li', {}, `The gradient of ${this.step.nodes[id].parameter} is final.`));
    }
    lines.push(...this.buckets?.lines(record) ?? []);
    return element('ul', {class: 'ends', ...(lines.length > 0 ? {} : {hidden: ''})}, ...lines);
  }
}

// The walk through forward and backward.

class Walk {
  // show(position) is called at each place.
  constructor(step, show) {
    Object.assign(this, {step, show, at: 0, byModule: false});
  }

  get position() {
    return this.step.positions[this.at];
  }

  get last() {
    return this.step.positions.length - 1;
  }

  // "backward 3 of 12"
  get text() {
    const {pass} = this.position, {forwards} = this.step;
    const isForward = pass === 'forward';
    return `${pass} ${this.at + 1 - (isForward ? 0 : forwards)} of ${isForward ? forwards : this.last + 1 - forwards}`;
  }

  go(at) {
    this.at = Math.max(0, Math.min(this.last, at));
    this.show(this.position);
  }

  // To the next op in the direction, or to the first one of the next module.
  move(direction) {
    let at = this.at + direction;
    const {node, pass} = this.position;
    const isSame = (i) => this.step.positions[i]?.node.module === node.module && this.step.positions[i]?.pass === pass;
    while (this.byModule && isSame(at)) at += direction;
    this.go(at);
  }

  goToNode(id) {
    this.go(this.step.placeOf(id, this.position.pass));
  }

  // To the other pass of the same op.
  turn() {
    const {pass, node} = this.position;
    this.go(this.step.placeOf(node.id, pass === 'forward' ? 'backward' : 'forward'));
  }
}

// What the buttons of a walk do.
function walkActions(walk) {
  return {first: () => walk.go(0), previous: () => walk.move(-1), next: () => walk.move(1), turn: () => walk.turn()};
}

function updateButtons(walk, buttons) {
  const isForward = walk.position.pass === 'forward';
  buttons.turn.textContent = isForward ? 'to backward' : 'to forward';
  buttons.previous.disabled = buttons.first.disabled = walk.at === 0;
  buttons.next.disabled = walk.at === walk.last;
}
