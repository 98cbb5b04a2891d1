// Walks through a page: visits every position, chooses some elements of every heat map, and counts what it shows.
'use strict';

// The elements that the page computes again, also by op, and those whose gradient it compares with a finite difference.
class WalkCounts {
  constructor() {
    this.numbers = {walked: 0, elements: 0, agreements: 0, disagreements: 0, differences: 0, differing: 0};
    this.byOp = {};
  }

  publish(more = {}) {
    const agreementsByOp = Object.entries(this.byOp).map(([op, count]) => `${op} ${count}`).join(', ');
    Object.assign(document.documentElement.dataset, this.numbers, {agreementsByOp}, more);
  }
}

function walkAll(walk, view, counts) {
  walk.step.positions.forEach((_, at) => {
    walk.go(at);
    const before = counts.numbers.agreements;
    for (const map of view.querySelectorAll('.heat')) chooseElements(map, counts.numbers);
    for (const slider of view.querySelectorAll('.turns input')) slider.dispatchEvent(new Event('input'));
    ++counts.numbers.walked;
    const {op} = walk.position.node;
    counts.byOp[op] = (counts.byOp[op] ?? 0) + counts.numbers.agreements - before;
  });
}

// The second element, others from the first to the last, and a measured one.
function chooseElements(map, numbers) {
  const press = (key) => map.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
  const count = (classes) => map.closest('.tensor').querySelectorAll(classes).length;
  const {heatMap} = map, {width, height} = heatMap.canvas;
  const places = [0, 0.37, 0.71, 1].map((share) => [share * (width - 1), share * (height - 1)].map(Math.round));
  for (const choose of [() => press('ArrowRight'), ...places.map((place) => () => heatMap.choose(...place))]) {
    choose();
    ++numbers.elements;
    numbers.agreements += count('.agrees:not(.finite)');
    numbers.disagreements += count('.disagrees:not(.finite)');
  }
  if (heatMap.measured.length === 0) return;
  press('d');
  numbers.differences += count('.finite');
  numbers.differing += count('.finite.disagrees');
}
