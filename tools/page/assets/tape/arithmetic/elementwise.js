// Sums, scales and dropout.
'use strict';

// The gradient that an op passes on unchanged.
function passedOn(name) {
  return (node, t, i, j) => explanation(`d${name}[${i}, ${j}] = dy[${i}, ${j}]`,
                                        [product([`dy[${i}, ${j}]`, t.dy?.at(i, j)])]);
}

function droppedGradient(node, t, i, j) {
  return explanation(`dx[${i}, ${j}] = keep dy[${i}, ${j}]`,
                     [product(['keep', keepOf(t, i, j)], [`dy[${i}, ${j}]`, t.dy?.at(i, j)])]);
}

const ADD = {
  output: (node, t, i, j) => explanation(`y[${i}, ${j}] = a[${i}, ${j}] + b[${i}, ${j}]`, [
    product([`a[${i}, ${j}]`, t.a.at(i, j)]), product([`b[${i}, ${j}]`, t.b.at(i, j)]),
  ]),
  a: passedOn('a'),
  b: passedOn('b'),
};

const SCALE = {
  output: (node, t, i, j) => explanation(`y[${i}, ${j}] = factor x[${i}, ${j}]`, [product(
      ['factor', attributeOf(node, 'factor', 1)], [`x[${i}, ${j}]`, t.x.at(i, j)])]),
  x: (node, t, i, j) => explanation(`dx[${i}, ${j}] = factor dy[${i}, ${j}]`, [product(
      ['factor', attributeOf(node, 'factor', 1)], [`dy[${i}, ${j}]`, t.dy?.at(i, j)])]),
};

const DROPOUT = {
  output: (node, t, i, j) => explanation(`y[${i}, ${j}] = keep x[${i}, ${j}]`, [product(
      ['keep', keepOf(t, i, j)], [`x[${i}, ${j}]`, t.x.at(i, j)])]),
  x: droppedGradient,
};

const RESIDUAL_DROPOUT = {
  output: (node, t, i, j) => explanation(`y[${i}, ${j}] = residual + keep x`, [
    product([`residual[${i}, ${j}]`, t.residual.at(i, j)]),
    product(['keep', keepOf(t, i, j)], [`x[${i}, ${j}]`, t.x.at(i, j)]),
  ]),
  residual: passedOn('residual'),
  x: droppedGradient,
};
