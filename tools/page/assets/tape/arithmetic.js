// Which products and sums made an element of an op's output or of a gradient. An explanation has
//   result   the formula of the element, with its indices
//   terms    [{text, value}], whose sum is the element; the text names the factors
// Each function returns null for elements whose factors the page does not have.
'use strict';

function sumOf(terms) {
  return terms.reduce((sum, term) => sum + term.value, 0);
}

function product(...factors) {
  const names = factors.map(([name]) => name), values = factors.map(([, value]) => valueText(value, 4));
  const text = factors.length === 1 ? names[0] : `${names.join(' · ')} = ${values.join(' · ')}`;
  return {text, value: factors.reduce((all, [, value]) => all * value, 1)};
}

function explanation(result, terms) {
  return terms.some((term) => !Number.isFinite(term.value)) ? null : {result, terms};
}

function range(n) {
  return Array.from({length: n}, (_, i) => i);
}

// The tensors of an op by name: operands, output, saved tensors and the gradient of the output.
function tensorsOf(step, node) {
  const tensors = {y: step.value(node), dy: step.tensor(node.gradient)};
  for (const {name, value} of operandsOf(step, node)) tensors[name] = value;
  for (const saved of node.saved) tensors[saved.name] = step.tensor(saved.value);
  return tensors;
}

// An element of a tensor with one axis.
function entry(tensor, i) {
  return tensor?.at(0, i);
}

// The first row of w that the op uses.
function firstRow(node) {
  return Number((node.attributes.rows ?? '0').split('.')[0]);
}

// dpre[i, j] of y = act(pre): dy, or, for relu without dropout, dy where y > 0. Undefined for other activations.
function linearGradient(node, {y, dy}, i, j) {
  if (node.op === 'linear') return dy?.at(i, j);
  if (node.op !== 'linear_relu' || node.attributes.dropout) return undefined;
  return y.at(i, j) > 0 ? dy?.at(i, j) : Number.isFinite(y.at(i, j)) ? 0 : undefined;
}

const LINEAR = {
  output(node, t, i, j) {
    const row = firstRow(node) + j;
    const terms = range(t.x.columns).map((k) => product(
        [`x[${i}, ${k}]`, t.x.at(i, k)], [`w[${row}, ${k}]`, t.w.at(row, k)]));
    if (t.bias) terms.push(product([`bias[${row}]`, entry(t.bias, row)]));
    const bias = t.bias ? ` + bias[${row}]` : '';
    if (node.op === 'linear') return explanation(`y[${i}, ${j}] = Σ x[${i}, k] w[${row}, k]${bias}`, terms);
    if (node.op !== 'linear_relu' || node.attributes.dropout) return null;
    const made = explanation(`y[${i}, ${j}] = max(0, Σ x[${i}, k] w[${row}, k]${bias})`, terms);
    return made && sumOf(terms) < 0 ? {...made, value: 0} : made;
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

// The normalized input of layer_norm, and of residual_layer_norm, whose input is `sum`.
function normalized(t, i, j) {
  return ((t.sum ?? t.x).at(i, j) - entry(t.mean, i)) * entry(t.rstd, i);
}

const LAYER_NORM = {
  output(node, t, i, j) {
    const terms = [product([`gamma[${j}]`, entry(t.gamma, j)], [`xhat[${i}, ${j}]`, normalized(t, i, j)])];
    if (t.beta) terms.push(product([`beta[${j}]`, entry(t.beta, j)]));
    return explanation(`y[${i}, ${j}] = gamma xhat + beta,  xhat = (${t.sum ? 'sum' : 'x'} − mean) rstd`, terms);
  },
  gamma(node, t, _, j) {
    return explanation(`dgamma[${j}] = Σ dy[i, ${j}] xhat[i, ${j}]`, range(t.y.rows).map((i) => product(
        [`dy[${i}, ${j}]`, t.dy?.at(i, j)], [`xhat[${i}, ${j}]`, normalized(t, i, j)])));
  },
  beta(node, t, _, j) {
    return explanation(`dbeta[${j}] = Σ dy[i, ${j}]`, range(t.y.rows).map(
        (i) => product([`dy[${i}, ${j}]`, t.dy?.at(i, j)])));
  },
  // The gradient of the tensor that is normalized.
  x(node, t, i, j) {
    const columns = range(t.y.columns), scale = entry(t.rstd, i);
    const g = columns.map((k) => entry(t.gamma, k) * t.dy?.at(i, k)), xhat = columns.map((k) => normalized(t, i, k));
    const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
    const projection = mean(xhat.map((value, k) => value * g[k]));
    return explanation(
        `d[${i}, ${j}] = rstd (g − mean(g) − xhat mean(g xhat)),  g = gamma dy`,
        [product([`rstd[${i}]`, scale], [`g[${i}, ${j}]`, g[j]]), product(['−rstd', -scale], ['mean(g)', mean(g)]),
         product(['−rstd', -scale], [`xhat[${i}, ${j}]`, xhat[j]], ['mean(g xhat)', projection])]);
  },
};

const RESIDUAL_LAYER_NORM = {
  output: LAYER_NORM.output, gamma: LAYER_NORM.gamma, beta: LAYER_NORM.beta, residual: LAYER_NORM.x,
};

const EMBEDDING = {
  output(node, t, i, j) {
    const id = entry(t.ids, i);
    return explanation(`y[${i}, ${j}] = factor table[${id}, ${j}]`, [product(
        ['factor', Number(node.attributes.factor ?? 1)], [`table[${id}, ${j}]`, t.table.at(id, j)])]);
  },
  table(node, t, id, j) {
    if (range(t.y.rows).some((i) => entry(t.ids, i) === undefined)) return null;
    const rows = range(t.y.rows).filter((i) => entry(t.ids, i) === id), factor = Number(node.attributes.factor ?? 1);
    return explanation(`dtable[${id}, ${j}] = Σ factor dy[i, ${j}] over the rows i with id ${id}`, rows.map(
        (i) => product(['factor', factor], [`dy[${i}, ${j}]`, t.dy?.at(i, j)])));
  },
};

const ARITHMETIC = {
  linear: LINEAR, linear_relu: LINEAR, layer_norm: LAYER_NORM, residual_layer_norm: RESIDUAL_LAYER_NORM,
  embedding: EMBEDDING,
};

// of: 'output', or the name of the input whose gradient it is. Null if the page has no arithmetic for it.
function arithmeticOf(step, node, of) {
  const rule = ARITHMETIC[node.op]?.[of];
  const tensors = rule && tensorsOf(step, node);
  return rule ? (row, column) => rule(node, tensors, row, column) : null;
}
