// Which products and sums made an element of an op's output, of a gradient or of a saved tensor. An explanation has
//   result      the formula of the element, with its indices
//   terms       [{text, value}], whose sum is the element; the text names the factors
//   value       the element, if it is a function of the sum
//   magnitude   the sum of the magnitudes of all numbers that were added, if some of them cancel inside a term
//   turn        the pair of features that a rotation turns (turns.js)
// A rule returns null for elements whose factors the page does not have.
'use strict';

function sumOf(terms) {
  return terms.reduce((sum, term) => sum + term.value, 0);
}

function product(...factors) {
  const names = factors.map(([name]) => name), values = factors.map(([, value]) => valueText(value, 4));
  const text = factors.length === 1 ? names[0] : `${names.join(' · ')} = ${values.join(' · ')}`;
  return {text, value: factors.reduce((all, [, value]) => all * value, 1)};
}

// more: fields besides result and terms.
function explanation(result, terms, more = {}) {
  const numbers = [...terms.map((term) => term.value), more.value ?? 0, more.magnitude ?? 0];
  return numbers.every(Number.isFinite) ? {result, terms, ...more} : null;
}

function range(n) {
  return Array.from({length: n}, (_, i) => i);
}

function meanOf(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

// The factor of dropout of an element; 1 without dropout.
function keepOf(t, i, j) {
  return t.keep ? t.keep.at(i, j) : 1;
}

// An element of a tensor with one axis.
function entry(tensor, i) {
  return tensor?.at(0, i);
}

function attributeOf(node, name, otherwise) {
  return Number(node.attributes[name] ?? otherwise);
}

// The tensors of an op by name: operands, output, saved and computed tensors, and the gradient of the output.
function tensorsOf(step, node) {
  const tensors = {y: step.value(node), dy: step.tensor(node.gradient)};
  for (const {name, value} of operandsOf(step, node)) tensors[name] = value;
  for (const {name, value} of [...node.saved, ...node.computed]) tensors[name] = step.tensor(value);
  return tensors;
}
