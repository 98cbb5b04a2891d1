// The walk through forward and backward.
'use strict';

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
