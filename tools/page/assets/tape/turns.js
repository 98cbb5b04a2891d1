// Shows how an element was made: rotations as turns, and sums term by term.
'use strict';

// Rotations as turning arrows: a pair of features before and after it. In backward, gradients turn back.
const DIAL = 76;          // size of a dial
const MOST_DIALS = 32;    // rows that are drawn
const ROTATION_NOTE = 'Each pair of features turns by θ = position × frequency, modulo 2π. ' +
    'The dashed arrow is the pair before the rotation, the other after it.';

function arrow(name, [x, y], longest) {
  const scale = longest > 0 ? 0.44 * DIAL / longest : 0, center = DIAL / 2;
  const tip = [center + x * scale, center - y * scale], length = Math.hypot(x, y) * scale;
  const shaft = svgElement('line', {class: name, x1: center, y1: center, x2: tip[0], y2: tip[1]});
  if (length < 4) return [shaft];
  const along = [(tip[0] - center) / length, (tip[1] - center) / length], across = [-along[1], along[0]];
  const corner = (side) => tip.map((at, axis) => at - 6 * along[axis] + side * 3 * across[axis]).join();
  return [shaft, svgElement('polygon', {class: name, points: `${tip.join()} ${corner(1)} ${corner(-1)}`})];
}

// The arc from one direction to another, along the angle.
function turnArc(turn) {
  const from = Math.atan2(turn.before[1], turn.before[0]), radius = DIAL / 6, center = DIAL / 2;
  const point = (angle) => `${center + radius * Math.cos(angle)} ${center - radius * Math.sin(angle)}`;
  const isLarge = Math.abs(turn.angle) > Math.PI ? 1 : 0, sweep = turn.angle > 0 ? 0 : 1;
  const d = `M ${point(from)} A ${radius} ${radius} 0 ${isLarge} ${sweep} ${point(from + turn.angle)}`;
  return svgElement('path', {class: 'arc', d});
}

// longest: the length of the longest arrow of all dials.
function dialView(turn, longest) {
  const circle = svgElement('circle', {cx: DIAL / 2, cy: DIAL / 2, r: 0.46 * DIAL});
  return svgElement('svg', {class: 'dial', viewBox: `0 0 ${DIAL} ${DIAL}`, 'aria-hidden': 'true'}, circle,
                    turnArc(turn), ...arrow('before', turn.before, longest), ...arrow('after', turn.after, longest));
}

function longestOf(turn) {
  return Math.max(Math.hypot(...turn.before), Math.hypot(...turn.after));
}

function pairText(pair) {
  return `(${pair.map((x) => valueText(x, 4)).join(', ')})`;
}

function turnText(turn) {
  const degrees = valueText(turn.angle * 180 / Math.PI, 4), angle = valueText(turn.angle, 4);
  const turned = turn.back ? 'the gradient of the rotated pair' : 'the pair';
  return `Pair ${turn.pair}: ${turned} ${pairText(turn.before)} turns by θ = ${angle} (${degrees}°) ` +
      `to ${pairText(turn.after)}${turn.back ? '. Backward applies the transpose, which turns the other way.' : '.'}`;
}

// The rotation of one element, for its explanation.
function turnView(turn) {
  return element('div', {class: 'turn'}, dialView(turn, longestOf(turn)), element('p', {}, turnText(turn)));
}

// What the op rotates: [{name, rows, turn(row, pair)}].
function rotatedTensors(step, node, pass) {
  const t = tensorsOf(step, node), back = pass === 'backward';
  if (node.op === 'rope') return [rotatedOfRope(node, t, back)];
  if (node.op !== 'attention' || !t['query angles']) return [];
  const shape = attentionShape(node, t), keyAngles = t['key angles'] ?? t['query angles'];
  const names = back ? ['dq', 'dk'] : ['q', 'k'];
  return [rotatedOfAttention(node, t, shape, {name: names[0], own: t['own q'], angles: t['query angles'], back}),
          rotatedOfAttention(node, t, shape, {name: names[1], own: t['own k'], angles: keyAngles, back})];
}

function rotatedOfRope(node, t, back) {
  const rule = back ? ROPE.x : ROPE.output;
  const turn = (row, pair) => rule(node, t, row, featuresOfPair(node, pair)[0])?.turn;
  return {name: back ? 'dx' : 'x', rows: t.y.rows, turn};
}

function rotatedOfAttention(node, t, shape, {name, own, angles, back}) {
  const gradient = (row, pair) => ATTENTION_SUMS[name](node, t, row, featuresOfPair(node, pair)[0])?.turn;
  const forward = (row, pair) => unrotatedTurn(node, angles, row, pair, (feature) => own.at(row, feature));
  return {name: `${name} of the first head`, rows: angles.rows, turn: back ? gradient : forward};
}

// The turn that led to rotated features.
function unrotatedTurn(node, angles, row, pair, rotated) {
  const scale = attributeOf(node, 'magnitude', 1) ** 2;
  const before = (feature) => turned(node, angles, row, feature, true).reduce(
      (sum, part) => sum + part.factor * rotated(part.feature), 0) / scale;
  return turnOf(node, angles, row, featuresOfPair(node, pair)[0], false, before);
}

// The pairs of all rows as dials. The controls choose what is rotated, the pair and the row.
class TurnsFigure {
  constructor(tensors, pairs, positions) {
    Object.assign(this, {tensors, positions, number: 0, pair: 0, row: Math.min(1, tensors[0].rows - 1)});
    this.dials = element('div', {class: 'dials'});
    this.text = element('output', {});
    this.rowSlider = this.slider('row', tensors[0].rows - 1, (value) => this.set({row: value}));
    this.view = element('figure', {class: 'tensor turns'},
                        element('figcaption', {}, element('h4', {}, 'The rotation by position')),
                        element('p', {class: 'note'}, ROTATION_NOTE),
                        this.choice(), this.slider('pair', pairs - 1, (value) => this.set({pair: value})),
                        this.rowSlider, this.dials, this.text);
    this.draw();
  }

  choice() {
    if (this.tensors.length === 1) return element('span', {});
    const options = this.tensors.map(({name}, i) => element('option', {value: i}, name));
    const select = element('select', {}, ...options);
    select.addEventListener('change', () => this.set({number: Number(select.value)}));
    return element('label', {}, 'rotates ', select);
  }

  slider(name, max, change) {
    const input = element('input', {type: 'range', min: 0, max, value: this[name]});
    input.addEventListener('input', () => change(Number(input.value)));
    return element('label', {}, `${name} `, input);
  }

  set(fields) {
    Object.assign(this, fields);
    const {rows} = this.tensors[this.number], input = this.rowSlider.querySelector('input');
    this.row = Math.min(this.row, rows - 1);
    input.max = rows - 1;
    input.value = this.row;
    this.draw();
  }

  draw() {
    const {rows, turn} = this.tensors[this.number];
    const turns = range(Math.min(rows, MOST_DIALS)).map((row) => turn(row, this.pair));
    const longest = Math.max(0, ...turns.filter(Boolean).map(longestOf));
    this.dials.replaceChildren(...turns.map((own, row) => this.dial(own, row, longest)));
    const chosen = turn(this.row, this.pair);
    this.text.textContent = chosen ? `${this.rowText(this.row)}. ${turnText(chosen)}` :
                                     `The page does not have all features of ${this.rowText(this.row)}.`;
  }

  rowText(row) {
    const position = entry(this.positions, row);
    return position === undefined || position === row ? `row ${row}` : `row ${row}, position ${position}`;
  }

  dial(turn, row, longest) {
    const view = element('div', {class: row === this.row ? 'place chosen' : 'place'},
                         ...(turn ? [dialView(turn, longest)] : []), element('small', {}, String(row)));
    view.addEventListener('click', () => this.set({row}));
    return view;
  }
}

// Null if the op rotates nothing.
function turnsFigure(step, node, pass) {
  const tensors = rotatedTensors(step, node, pass);
  if (tensors.length === 0 || tensors[0].rows === 0 || (pass === 'backward' && !node.gradient)) return null;
  return new TurnsFigure(tensors, attributeOf(node, 'rotary', 0) / 2, tensorsOf(step, node).positions).view;
}

// Shows the sum that made an element, and compares it with the element.

const SHOWN_TERMS = 10;

// The largest rounding error that the precision explains, as a share of the sum of all magnitudes.
function tolerance(precision) {
  return precision === 'fp32' ? 1e-5 : 2e-2;
}

function termRow(term) {
  return element('tr', {}, element('td', {}, term.text), element('td', {class: 'number'}, valueText(term.value)));
}

function termsTable(terms) {
  const sorted = [...terms].sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  const shown = sorted.slice(0, SHOWN_TERMS), others = sorted.slice(SHOWN_TERMS);
  const rows = shown.map(termRow);
  if (others.length > 0) rows.push(termRow({text: `${others.length} smaller terms`, value: sumOf(others)}));
  rows.push(element('tr', {class: 'sum'}, element('th', {scope: 'row'}, `sum of ${terms.length} terms`),
                    element('td', {class: 'number'}, valueText(sumOf(terms), 8))));
  return element('table', {class: 'terms'}, element('caption', {}, 'largest terms first'),
                 element('tbody', {}, ...rows));
}

// made: an explanation; stored: the element as the op computed it; total: a sum from which `stored` is a difference.
function comparison(made, stored, total, precision) {
  const value = made.value ?? sumOf(made.terms);
  const magnitude = made.magnitude ?? made.terms.reduce((sum, term) => sum + Math.abs(term.value), 0);
  const size = magnitude + Math.abs(stored) + Math.abs(total);
  const agrees = Math.abs(value - stored) <= tolerance(precision) * size;
  const text = `here ${valueText(value, 8)}, by the op ${valueText(stored, 8)}: ` +
      (agrees ? 'equal up to rounding' : `they differ by ${valueText(value - stored)}`);
  return element('p', {class: agrees ? 'agrees' : 'disagrees'}, text);
}

function termsView(made, stored, total, precision) {
  const turn = made.turn ? [turnView(made.turn)] : [];
  return element('div', {}, element('p', {class: 'result'}, made.result), termsTable(made.terms),
                 comparison(made, stored, total, precision), ...turn);
}

// What the page tells about an element with arithmetic. sum: the gradient so far, if the tensor is the difference of
// two of its values.
function explained(tensor, sum, explain, row, column, precision) {
  const stored = tensor.at(row, column), note = (text) => element('p', {class: 'note'}, text);
  if (isMasked(tensor, stored)) return note('The query does not see this key.');
  if (!Number.isFinite(stored)) return note('The element is not finite.');
  const made = explain(row, column);
  if (made) return termsView(made, stored, sum?.at(row, column) ?? 0, precision);
  return note('The page does not have all terms of this element: try the first rows or columns.');
}

// The elements that tensorView shows for a chosen element: its arithmetic, if the op has a rule for `of`, and a finite
// difference, if it was measured.
function explainer(step, node, of, tensor, sum) {
  const {precision} = step.setting, explain = of ? arithmeticOf(step, node, of) : null;
  return (row, column) => [
    explain ? explained(tensor, sum, explain, row, column, precision) : null,
    differenceView(tensor, row, column, precision),
  ].filter(Boolean);
}
