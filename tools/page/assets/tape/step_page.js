// Starts the page of a training step: controls, keys, the map and the panel. An address that ends in #backward-12 opens
// the page at the backward of node 12.
'use strict';

function byId(id) {
  return document.getElementById(id);
}

class StepPage {
  constructor(step) {
    this.step = step;
    this.walk = new Walk(step, (position) => this.show(position));
    this.tree = new Tree(byId('tree'), moduleTree(step), step.whole, (item) => this.visit(item));
    const buckets = step.ranks ? new Buckets(step, (id) => this.goToGradient(id), () => this.showBuckets()) : null;
    this.panel = new Panel(byId('current'), step, (id) => this.walk.goToNode(id), buckets);
    byId('turn-buckets').hidden = buckets === null;
    this.buttons = Object.fromEntries(['first', 'previous', 'next', 'turn'].map((id) => [id, byId(id)]));
    this.bindControls();
    this.walk.go(0);
  }

  show(position) {
    const {walk} = this;
    byId('place').value = walk.at;
    byId('place').setAttribute('aria-valuetext', `${walk.text}: ${position.node.op}`);
    byId('number').textContent = walk.text;
    updateButtons(walk, this.buttons);
    byId('turn-buckets').setAttribute('aria-pressed', 'false');
    this.tree.light(position.node.id);
    this.panel.show(position);
  }

  // The buckets take the place of the current step, and then the step theirs.
  turnBuckets() {
    if (byId('turn-buckets').getAttribute('aria-pressed') === 'true') {
      this.walk.go(this.walk.at);
    } else {
      this.showBuckets();
    }
  }

  showBuckets() {
    if (!this.panel.buckets) return;
    byId('turn-buckets').setAttribute('aria-pressed', 'true');
    this.panel.showBuckets();
  }

  // To the backward of an op, or to the step after which the gradient of a parameter is final.
  goToGradient(id) {
    const final = this.step.steps.findIndex((record) => record.final.includes(id));
    this.walk.go(final >= 0 ? this.step.forwards + final : this.step.placeOf(id, 'backward'));
  }

  follow(address) {
    if (address === '#buckets') return this.showBuckets();
    const [, pass, id] = address.match(/^#(forward|backward)-(\d+)$/) ?? [];
    if (this.step.nodes[id]) this.walk.go(this.step.placeOf(Number(id), pass));
  }

  // Walks to an item of the map: a module begins at its first op in the direction of the pass.
  visit(item) {
    if (item.kind !== 'module') return this.walk.goToNode(item.node);
    const {pass} = this.walk.position;
    const at = this.step.positions.findIndex(
        ({pass: own, node}) => own === pass && (item.path === '' || `${node.module}.`.startsWith(`${item.path}.`)));
    if (at >= 0) this.walk.go(at);
  }

  bindControls() {
    for (const [id, action] of Object.entries(walkActions(this.walk))) byId(id).addEventListener('click', action);
    byId('turn-buckets').addEventListener('click', () => this.turnBuckets());
    byId('place').max = this.walk.last;
    byId('place').addEventListener('input', (event) => this.walk.go(Number(event.target.value)));
    byId('stride').addEventListener('change', (event) => { this.walk.byModule = event.target.value === 'module'; });
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
    if (event.target.matches('.formula') && event.key.startsWith('Arrow')) return;  // which scroll it
    if (tagName === 'INPUT' && !(isSlider && event.key.length === 1)) return;
    const {walk} = this;
    const actions = {
      n: () => walk.move(1),
      p: () => walk.move(-1),
      ArrowRight: () => walk.move(1),
      ArrowLeft: () => walk.move(-1),
      Home: () => walk.go(0),
      End: () => walk.go(walk.last),
      b: () => walk.turn(),
      g: () => this.turnBuckets(),
      '/': () => byId('search').focus(),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  }
}

function start() {
  const step = new Step(JSON.parse(byId('data').textContent));
  const {setting} = step;
  byId('model').textContent = setting.model;
  const mean = step.loss === null ? NaN : step.loss / step.predictions; // JSON has no NaN
  const rank = step.ranks ? `, rank 0 of ${step.ranks.ranks.length}` : '';
  byId('setting').textContent = `${setting.batch}${rank}, ${setting.precision} on ${setting.device}: ` +
      `mean loss ${valueText(mean)} over ${step.predictions} predictions, ` +
      `${timeText(step.whole.seconds)}, ${countText(step.whole.parameters, '')} parameters`;
  const page = new StepPage(step);
  window.addEventListener('hashchange', () => page.follow(location.hash));
  page.follow(location.hash);
  return page;
}

const page = start();
