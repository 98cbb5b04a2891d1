// The basic ops of the reference (autograd/reference.h).
'use strict';

const MATMUL = {
  output: (node, t, i, j) => explanation(`y[${i}, ${j}] = Σ a[${i}, k] b[k, ${j}]`, range(t.a.columns).map(
      (k) => product([`a[${i}, ${k}]`, t.a.at(i, k)], [`b[${k}, ${j}]`, t.b.at(k, j)]))),
  a: (node, t, i, k) => explanation(`da[${i}, ${k}] = Σ dy[${i}, j] b[${k}, j]`, range(t.y.columns).map(
      (j) => product([`dy[${i}, ${j}]`, t.dy?.at(i, j)], [`b[${k}, ${j}]`, t.b.at(k, j)]))),
  b: (node, t, k, j) => explanation(`db[${k}, ${j}] = Σ a[i, ${k}] dy[i, ${j}]`, range(t.y.rows).map(
      (i) => product([`a[${i}, ${k}]`, t.a.at(i, k)], [`dy[${i}, ${j}]`, t.dy?.at(i, j)]))),
};

const TRANSPOSE = {
  output: (node, t, i, j) => explanation(`y[${i}, ${j}] = a[${j}, ${i}]`, [product([`a[${j}, ${i}]`, t.a.at(j, i)])]),
  a: (node, t, i, j) => explanation(`da[${i}, ${j}] = dy[${j}, ${i}]`, [product([`dy[${j}, ${i}]`, t.dy?.at(j, i)])]),
};

// The gradient of one factor of y = a * b: dy times the other factor.
function factorGradient(name, other) {
  return (node, t, i, j) => explanation(`d${name}[${i}, ${j}] = dy[${i}, ${j}] ${other}[${i}, ${j}]`, [product(
      [`dy[${i}, ${j}]`, t.dy?.at(i, j)], [`${other}[${i}, ${j}]`, t[other].at(i, j)])]);
}

const MULTIPLY = {
  output: (node, t, i, j) => explanation(`y[${i}, ${j}] = a[${i}, ${j}] b[${i}, ${j}]`, [product(
      [`a[${i}, ${j}]`, t.a.at(i, j)], [`b[${i}, ${j}]`, t.b.at(i, j)])]),
  a: factorGradient('a', 'b'),
  b: factorGradient('b', 'a'),
};
