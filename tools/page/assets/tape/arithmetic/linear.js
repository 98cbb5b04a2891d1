// Linear layers, also with an activation and dropout.
'use strict';

// The first row of w that the op uses.
function firstRow(node) {
  return Number((node.attributes.rows ?? '0').split('.')[0]);
}

// The activation of linear_relu, linear_gelu, ..; undefined for linear.
function activationOf(node) {
  return ACTIVATIONS[node.op.replace(/^linear_?/, '')];
}

// dpre[i, j] of y = keep act(pre).
function linearGradient(node, t, i, j) {
  const activation = activationOf(node), keep = keepOf(t, i, j);
  if (!activation) return t.dy?.at(i, j);
  if (node.op !== 'linear_relu') return keep * activation.slope(t.pre?.at(i, j)) * t.dy?.at(i, j);
  if (!(Math.abs(t.y.at(i, j)) >= 0)) return undefined;
  return t.y.at(i, j) > 0 ? keep * t.dy?.at(i, j) : 0;
}

function linearTerms(t, i, row) {
  const terms = range(t.x.columns).map((k) => product(
      [`x[${i}, ${k}]`, t.x.at(i, k)], [`w[${row}, ${k}]`, t.w.at(row, k)]));
  if (t.bias) terms.push(product([`bias[${row}]`, entry(t.bias, row)]));
  return terms;
}

const LINEAR = {
  output(node, t, i, j) {
    const row = firstRow(node) + j, bias = t.bias ? ` + bias[${row}]` : '';
    const terms = linearTerms(t, i, row), sum = `Σ x[${i}, k] w[${row}, k]${bias}`;
    const activation = activationOf(node);
    if (!activation) return explanation(`y[${i}, ${j}] = ${sum}`, terms);
    const keep = t.keep ? `keep · ` : '';
    return explanation(`y[${i}, ${j}] = ${keep}${activation.name}(${sum})`, terms,
                       {value: keepOf(t, i, j) * activation.value(sumOf(terms))});
  },
  pre(node, t, i, j) {
    return explanation(`pre[${i}, ${j}] = Σ x[${i}, k] w[${j}, k]${t.bias ? ` + bias[${j}]` : ''}`,
                       linearTerms(t, i, j));
  },
  x(node, t, i, k) {
    const first = firstRow(node), dpre = node.op === 'linear' ? 'dy' : 'dpre';
    const row = first > 0 ? `${first} + j` : 'j';
    return explanation(`dx[${i}, ${k}] = Σ ${dpre}[${i}, j] w[${row}, ${k}]`, range(t.y.columns).map((j) => product(
        [`${dpre}[${i}, ${j}]`, linearGradient(node, t, i, j)], [`w[${first + j}, ${k}]`, t.w.at(first + j, k)])));
  },
  w(node, t, row, k) {
    const j = row - firstRow(node), dpre = node.op === 'linear' ? 'dy' : 'dpre';
    if (j < 0 || j >= t.y.columns) return explanation(`dw[${row}, ${k}]: the op does not use this row`, []);
    return explanation(`dw[${row}, ${k}] = Σ ${dpre}[i, ${j}] x[i, ${k}]`, range(t.x.rows).map((i) => product(
        [`${dpre}[${i}, ${j}]`, linearGradient(node, t, i, j)], [`x[${i}, ${k}]`, t.x.at(i, k)])));
  },
  bias(node, t, _, row) {
    const j = row - firstRow(node), dpre = node.op === 'linear' ? 'dy' : 'dpre';
    if (j < 0 || j >= t.y.columns) return explanation(`dbias[${row}]: the op does not use this row`, []);
    return explanation(`dbias[${row}] = Σ ${dpre}[i, ${j}]`, range(t.x.rows).map(
        (i) => product([`${dpre}[${i}, ${j}]`, linearGradient(node, t, i, j)])));
  },
};
