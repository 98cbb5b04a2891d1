// Shows the sum that made an element, and compares it with the element.
'use strict';

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
