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

// Activation functions with their derivatives, and the ops that apply them.

// The CDF of the normal distribution, by a series whose terms are all positive.
function normalCdf(x) {
  if (Math.abs(x) > 9) return x > 0 ? 1 : 0;
  let term = x, sum = x;
  for (let n = 3; n < 300; n += 2) {
    term *= x * x / n;
    sum += term;
  }
  return 0.5 + sum * normalDensity(x);
}

function normalDensity(x) {
  return Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI);
}

function sigmoid(x) {
  return 1 / (1 + Math.exp(-x));
}

function geluTanh(x) {
  return Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3));
}

const ACTIVATIONS = {
  relu: {name: 'relu', value: (x) => Math.max(0, x), slope: (x) => (x > 0 ? 1 : 0)},
  gelu: {
    name: 'gelu', value: (x) => x * normalCdf(x), slope: (x) => normalCdf(x) + x * normalDensity(x),
  },
  tanh: {name: 'tanh', value: Math.tanh, slope: (x) => 1 - Math.tanh(x) ** 2},
  silu: {
    name: 'silu', value: (x) => x * sigmoid(x), slope: (x) => sigmoid(x) * (1 + x * (1 - sigmoid(x))),
  },
  gelu_tanh: {
    name: 'gelu_tanh',
    value: (x) => x / 2 * (1 + geluTanh(x)),
    slope: (x) => (1 + geluTanh(x)) / 2 +
        x / 2 * (1 - geluTanh(x) ** 2) * Math.sqrt(2 / Math.PI) * (1 + 3 * 0.044715 * x * x),
  },
  elu_plus_one: {
    name: 'elu + 1', value: (x) => (x > 0 ? x + 1 : Math.exp(x)), slope: (x) => (x > 0 ? 1 : Math.exp(x)),
  },
  relu_plus: {name: 'relu + 0.001', value: (x) => Math.max(0, x) + 0.001, slope: (x) => (x > 0 ? 1 : 0)},
  bounded_exp: {
    name: 'exp', value: (x) => Math.exp(Math.min(x, 60)), slope: (x) => (x < 60 ? Math.exp(x) : 0),
  },
};

// Op `activation` on every element.
const ACTIVATION = {
  output(node, t, i, j) {
    const {name, value} = ACTIVATIONS[node.op], x = t.x.at(i, j);
    return explanation(`y[${i}, ${j}] = ${name}(x[${i}, ${j}])`,
                       [{text: `${name}(${valueText(x, 4)})`, value: value(x)}]);
  },
  x(node, t, i, j) {
    const {name, slope} = ACTIVATIONS[node.op];
    return explanation(`dx[${i}, ${j}] = dy ${name}'(x)`, [product(
        [`dy[${i}, ${j}]`, t.dy?.at(i, j)], [`${name}'(x[${i}, ${j}])`, slope(t.x.at(i, j))])]);
  },
};

// x = [gate | value].
const GATED_ACTIVATION = {
  output(node, t, i, j) {
    const {name, value} = ACTIVATIONS[node.attributes.act], half = t.y.columns;
    return explanation(`y[${i}, ${j}] = ${name}(gate) value`, [product(
        [`${name}(x[${i}, ${j}])`, value(t.x.at(i, j))], [`x[${i}, ${half + j}]`, t.x.at(i, half + j)])]);
  },
  x(node, t, i, column) {
    const {name, value, slope} = ACTIVATIONS[node.attributes.act], half = t.y.columns;
    const j = column % half, gate = t.x.at(i, j), dy = [`dy[${i}, ${j}]`, t.dy?.at(i, j)];
    if (column >= half)
      return explanation(`dvalue[${i}, ${j}] = dy ${name}(gate)`,
                         [product(dy, [`${name}(x[${i}, ${j}])`, value(gate)])]);
    return explanation(`dgate[${i}, ${j}] = dy value ${name}'(gate)`, [product(
        dy, [`x[${i}, ${half + j}]`, t.x.at(i, half + j)], [`${name}'(x[${i}, ${j}])`, slope(gate)])]);
  },
};

// Linear layers, also with an activation and dropout.

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

// Layer norm, alone and after a residual connection, and RMS norm.

// The normalized input of layer_norm, and of residual_layer_norm, whose input is `sum`.
function normalized(t, i, j) {
  return ((t.sum ?? t.x).at(i, j) - entry(t.mean, i)) * entry(t.rstd, i);
}

// rstd (g − mean(g) − xhat mean(g xhat)) as terms; without the middle one for RMS norm.
function normGradientTerms(place, scale, g, xhat, own, subtractsMean) {
  const projection = meanOf(xhat.map((value, k) => value * g[k]));
  const terms = [product(['rstd', scale], [`g[${place}]`, g[own]])];
  if (subtractsMean) terms.push(product(['−rstd', -scale], ['mean(g)', meanOf(g)]));
  terms.push(product(['−rstd', -scale], [`xhat[${place}]`, xhat[own]], ['mean(g xhat)', projection]));
  return terms;
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
    const columns = range(t.y.columns);
    const g = columns.map((k) => entry(t.gamma, k) * t.dy?.at(i, k)), xhat = columns.map((k) => normalized(t, i, k));
    return explanation(`d[${i}, ${j}] = rstd (g − mean(g) − xhat mean(g xhat)),  g = gamma dy`,
                       normGradientTerms(`${i}, ${j}`, entry(t.rstd, i), g, xhat, j, true));
  },
  mean(node, t, _, i) {
    const x = t.sum ?? t.x, name = t.sum ? 'sum' : 'x';
    return explanation(`mean[${i}] = Σ ${name}[${i}, k] / ${x.columns}`, range(x.columns).map(
        (k) => product([`${name}[${i}, ${k}]`, x.at(i, k)], [`1/${x.columns}`, 1 / x.columns])));
  },
};

const RESIDUAL_LAYER_NORM = {
  output: LAYER_NORM.output, gamma: LAYER_NORM.gamma, beta: LAYER_NORM.beta, mean: LAYER_NORM.mean,
  residual: LAYER_NORM.x,
  x(node, t, i, j) {
    const made = LAYER_NORM.x(node, t, i, j), keep = keepOf(t, i, j);
    if (!made || !t.keep) return made;
    const terms = made.terms.map(({text, value}) => ({text: `keep · ${text}`, value: keep * value}));
    return explanation(`dx[${i}, ${j}] = keep d[${i}, ${j}],  keep = ${valueText(keep, 4)}`, terms);
  },
  sum(node, t, i, j) {
    const x = [`x[${i}, ${j}]`, t.x.at(i, j)];
    return explanation(`sum[${i}, ${j}] = residual + keep x`, [
      product([`residual[${i}, ${j}]`, t.residual.at(i, j)]),
      t.keep ? product(['keep', keepOf(t, i, j)], x) : product(x),
    ]);
  },
};

// Groups of as many columns as gamma has are normalized by themselves.
function rmsGroup(t, i, j) {
  const width = t.gamma.size, groups = t.y.columns / width, group = Math.floor(j / width);
  const rstd = entry(t.rstd, i * groups + group);
  return {width, groups, rstd, own: j % width, columns: range(width).map((k) => group * width + k)};
}

const RMS_NORM = {
  output(node, t, i, j) {
    const {rstd, own} = rmsGroup(t, i, j);
    return explanation(`y[${i}, ${j}] = gamma x rstd`, [product(
        [`gamma[${own}]`, entry(t.gamma, own)], [`x[${i}, ${j}]`, t.x.at(i, j)], ['rstd', rstd])]);
  },
  gamma(node, t, _, j) {
    const {width, groups} = rmsGroup(t, 0, j);
    const places = range(t.y.rows).flatMap((i) => range(groups).map((group) => [i, group * width + j]));
    return explanation(`dgamma[${j}] = Σ dy xhat over rows${groups > 1 ? ' and groups' : ''}`, places.map(([i, k]) => (
      product([`dy[${i}, ${k}]`, t.dy?.at(i, k)], [`xhat[${i}, ${k}]`, t.x.at(i, k) * rmsGroup(t, i, k).rstd]))));
  },
  x(node, t, i, j) {
    const {rstd, own, columns} = rmsGroup(t, i, j);
    const g = columns.map((k, n) => entry(t.gamma, n) * t.dy?.at(i, k)), xhat = columns.map((k) => t.x.at(i, k) * rstd);
    return explanation(`dx[${i}, ${j}] = rstd (g − xhat mean(g xhat)),  g = gamma dy`,
                       normGradientTerms(`${i}, ${j}`, rstd, g, xhat, own, false));
  },
};

// Sums, scales and dropout.

// The gradient that an op passes on unchanged.
function passedOn(name) {
  return (node, t, i, j) => explanation(`d${name}[${i}, ${j}] = dy[${i}, ${j}]`,
                                        [product([`dy[${i}, ${j}]`, t.dy?.at(i, j)])]);
}

function droppedGradient(node, t, i, j) {
  return explanation(`dx[${i}, ${j}] = keep dy[${i}, ${j}]`,
                     [product(['keep', keepOf(t, i, j)], [`dy[${i}, ${j}]`, t.dy?.at(i, j)])]);
}

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

// Rows of tables, and means, products and quotients over rows and heads.

const EMBEDDING = {
  output(node, t, i, j) {
    const id = entry(t.ids, i);
    return explanation(`y[${i}, ${j}] = factor table[${id}, ${j}]`, [product(
        ['factor', attributeOf(node, 'factor', 1)], [`table[${id}, ${j}]`, t.table.at(id, j)])]);
  },
  table(node, t, id, j) {
    if (range(t.y.rows).some((i) => entry(t.ids, i) === undefined)) return null;
    const rows = range(t.y.rows).filter((i) => entry(t.ids, i) === id), factor = attributeOf(node, 'factor', 1);
    return explanation(`dtable[${id}, ${j}] = Σ factor dy[i, ${j}] over the rows i with id ${id}`, rows.map(
        (i) => product(['factor', factor], [`dy[${i}, ${j}]`, t.dy?.at(i, j)])));
  },
};

// y(n, heads), from x(n, heads * width) and w(heads * width).
const HEAD_DOT = {
  output(node, t, i, h) {
    const width = t.x.columns / t.y.columns, factor = ['factor', attributeOf(node, 'factor', 1)];
    return explanation(`y[${i}, ${h}] = factor Σ x[${i}, k] w[k] over the head's columns k`, range(width).map((f) => {
      const k = h * width + f;
      return product(factor, [`x[${i}, ${k}]`, t.x.at(i, k)], [`w[${k}]`, entry(t.w, k)]);
    }));
  },
  x(node, t, i, k) {
    const h = Math.floor(k / (t.x.columns / t.y.columns));
    return explanation(`dx[${i}, ${k}] = factor dy[${i}, ${h}] w[${k}]`, [product(
        ['factor', attributeOf(node, 'factor', 1)], [`dy[${i}, ${h}]`, t.dy?.at(i, h)], [`w[${k}]`, entry(t.w, k)])]);
  },
  w(node, t, _, k) {
    const h = Math.floor(k / (t.x.columns / t.y.columns)), factor = ['factor', attributeOf(node, 'factor', 1)];
    return explanation(`dw[${k}] = factor Σ dy[i, ${h}] x[i, ${k}]`, range(t.x.rows).map(
        (i) => product(factor, [`dy[${i}, ${h}]`, t.dy?.at(i, h)], [`x[${i}, ${k}]`, t.x.at(i, k)])));
  },
};

// y = a / (b + epsilon), head by head.
const HEAD_DIVIDE = {
  output(node, t, i, j) {
    const h = Math.floor(j / (t.a.columns / t.b.columns)), divisor = t.b.at(i, h) + attributeOf(node, 'epsilon', 0);
    return explanation(`y[${i}, ${j}] = a[${i}, ${j}] / (b[${i}, ${h}] + epsilon)`,
                       [product([`a[${i}, ${j}]`, t.a.at(i, j)], ['1 / (b + epsilon)', 1 / divisor])]);
  },
  a(node, t, i, j) {
    const h = Math.floor(j / (t.a.columns / t.b.columns)), divisor = t.b.at(i, h) + attributeOf(node, 'epsilon', 0);
    return explanation(`da[${i}, ${j}] = dy[${i}, ${j}] / (b[${i}, ${h}] + epsilon)`,
                       [product([`dy[${i}, ${j}]`, t.dy?.at(i, j)], ['1 / (b + epsilon)', 1 / divisor])]);
  },
  b(node, t, i, h) {
    const width = t.a.columns / t.b.columns, divisor = t.b.at(i, h) + attributeOf(node, 'epsilon', 0);
    const term = (k) => product(['−1 / (b + epsilon)', -1 / divisor], [`dy[${i}, ${k}]`, t.dy?.at(i, k)],
                                [`y[${i}, ${k}]`, t.y.at(i, k)]);
    return explanation(`db[${i}, ${h}] = −Σ dy[${i}, k] y[${i}, k] / (b[${i}, ${h}] + epsilon)`,
                       range(width).map((f) => term(h * width + f)));
  },
};

// The mean of all rows, if there is one segment.
const SEGMENT_MEAN = {
  output(node, t, _, j) {
    if (t.y.rows !== 1) return null;
    return explanation(`y[0, ${j}] = Σ x[i, ${j}] / ${t.x.rows}`, range(t.x.rows).map(
        (i) => product([`x[${i}, ${j}]`, t.x.at(i, j)], [`1/${t.x.rows}`, 1 / t.x.rows])));
  },
  x(node, t, i, j) {
    if (t.y.rows !== 1) return null;
    return explanation(`dx[${i}, ${j}] = dy[0, ${j}] / ${t.x.rows}`,
                       [product([`dy[0, ${j}]`, t.dy?.at(0, j)], [`1/${t.x.rows}`, 1 / t.x.rows])]);
  },
};
