// Starts the page: controls, keys, and the walk through forward and backward. An address that ends in #backward-12
// opens the page at the backward of node 12. With #walk the page visits every position by itself and puts counts into
// document.documentElement.dataset, for tests.
'use strict';

function byId(id) {
  return document.getElementById(id);
}

class Walk {
  constructor(step) {
    Object.assign(this, {step, at: 0});
    this.tree = new Tree(byId('tree'), moduleTree(step), step.whole, (item) => this.visit(item));
    this.panel = new Panel(byId('current'), step, (id) => this.goToNode(id));
    this.bindControls();
    this.go(0);
  }

  get position() {
    return this.step.positions[this.at];
  }

  go(at) {
    const last = this.step.positions.length - 1;
    this.at = Math.max(0, Math.min(last, at));
    const {pass, node} = this.position, forward = pass === 'forward';
    const number = forward ? this.at + 1 : this.at + 1 - this.step.forwards;
    const count = forward ? this.step.forwards : last + 1 - this.step.forwards;
    byId('place').value = this.at;
    byId('place').setAttribute('aria-valuetext', `${pass} ${number} of ${count}: ${node.op}`);
    byId('number').textContent = `${pass} ${number} of ${count}`;
    byId('turn').textContent = forward ? 'to backward' : 'to forward';
    byId('previous').disabled = byId('first').disabled = this.at === 0;
    byId('next').disabled = this.at === last;
    this.tree.light(node.id);
    this.panel.show(this.position);
  }

  // By ops, or to the first op of the next module in the direction.
  move(direction) {
    let at = this.at + direction;
    if (byId('stride').value === 'module') {
      const same = (i) => this.step.positions[i]?.node.module === this.position.node.module &&
          this.step.positions[i]?.pass === this.position.pass;
      while (same(at)) at += direction;
    }
    this.go(at);
  }

  follow(address) {
    const [, pass, id] = address.match(/^#(forward|backward)-(\d+)$/) ?? [];
    if (this.step.nodes[id]) this.go(this.step.placeOf(Number(id), pass));
  }

  goToNode(id) {
    this.go(this.step.placeOf(id, this.position.pass));
  }

  turn() {
    const {pass, node} = this.position;
    this.go(this.step.placeOf(node.id, pass === 'forward' ? 'backward' : 'forward'));
  }

  // Walks to an item of the map: a module begins at its first op in the direction of the pass.
  visit(item) {
    if (item.kind !== 'module') return this.goToNode(item.node);
    const {pass} = this.position;
    const at = this.step.positions.findIndex(
        ({pass: own, node}) => own === pass && (item.path === '' || `${node.module}.`.startsWith(`${item.path}.`)));
    if (at >= 0) this.go(at);
  }

  bindControls() {
    const actions = {
      first: () => this.go(0),
      previous: () => this.move(-1),
      next: () => this.move(1),
      turn: () => this.turn(),
    };
    for (const [id, action] of Object.entries(actions)) byId(id).addEventListener('click', action);
    byId('place').max = this.step.positions.length - 1;
    byId('place').addEventListener('input', (event) => this.go(Number(event.target.value)));
    byId('search').addEventListener('input', (event) => {
      const found = this.tree.search(event.target.value);
      byId('found').textContent = event.target.value.trim() === '' ? '' : `${found} found`;
    });
    byId('search').addEventListener('keydown', (event) => {
      const [first] = this.tree.visible();
      if (event.key === 'ArrowDown' && first) this.tree.focus(first);
    });
    document.addEventListener('keydown', (event) => this.key(event));
  }

  key(event) {
    const {tagName, type} = event.target, isSlider = type === 'range';
    if (event.ctrlKey || event.altKey || event.metaKey || tagName === 'SELECT') return;
    if (tagName === 'INPUT' && !(isSlider && event.key.length === 1)) return;
    const actions = {
      n: () => this.move(1),
      p: () => this.move(-1),
      ArrowRight: () => this.move(1),
      ArrowLeft: () => this.move(-1),
      Home: () => this.go(0),
      End: () => this.go(this.step.positions.length - 1),
      b: () => this.turn(),
      '/': () => byId('search').focus(),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  }
}

// Visits every position and chooses the second element of every heat map. Searches for an op, and in vain.
function walkAll(walk) {
  for (const text of ['linear', 'no such op', '']) {
    byId('search').value = text;
    byId('search').dispatchEvent(new Event('input'));
    byId('search').dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowDown', bubbles: true}));
  }
  const counts = {walked: 0, elements: 0, agreements: 0, disagreements: 0};
  walk.step.positions.forEach((_, at) => {
    walk.go(at);
    for (const map of document.querySelectorAll('.heat')) {
      map.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}));
      ++counts.elements;
    }
    ++counts.walked;
    counts.agreements += document.querySelectorAll('.agrees').length;
    counts.disagreements += document.querySelectorAll('.disagrees').length;
  });
  Object.assign(document.documentElement.dataset, counts);
}

function start() {
  const step = new Step(JSON.parse(byId('data').textContent));
  const {setting} = step;
  byId('model').textContent = setting.model;
  const mean = step.loss === null ? NaN : step.loss / step.predictions; // JSON has no NaN
  byId('setting').textContent = `${setting.batch}, ${setting.precision} on ${setting.device}: ` +
      `mean loss ${valueText(mean)} over ${step.predictions} predictions, ` +
      `${timeText(step.whole.seconds)}, ${countText(step.whole.parameters, '')} parameters`;
  const walk = new Walk(step);
  window.addEventListener('hashchange', () => walk.follow(location.hash));
  walk.follow(location.hash);
  if (location.hash === '#walk') walkAll(walk);
}

start();
