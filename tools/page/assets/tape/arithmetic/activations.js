// Activation functions with their derivatives, and the ops that apply them.
'use strict';

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
