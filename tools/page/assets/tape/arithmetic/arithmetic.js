// Finds the rule that explains an element of an op.
'use strict';

// The basic ops of the reference (autograd/reference.h).
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

// The rules by op, then by what they explain: 'output', a saved or computed tensor, or the gradient of an input.

const ARITHMETIC = {
  linear: LINEAR, layer_norm: LAYER_NORM, residual_layer_norm: RESIDUAL_LAYER_NORM, rms_norm: RMS_NORM,
  embedding: EMBEDDING, head_dot: HEAD_DOT, head_divide: HEAD_DIVIDE, segment_mean: SEGMENT_MEAN, add: ADD,
  scale: SCALE, dropout: DROPOUT, residual_dropout: RESIDUAL_DROPOUT, gated_activation: GATED_ACTIVATION, rope: ROPE,
  attention: ATTENTION, linear_cross_entropy: LINEAR_CROSS_ENTROPY, cross_entropy: CROSS_ENTROPY,
  head_softmax: HEAD_SOFTMAX, linear_attention_scan: LINEAR_ATTENTION_SCAN,
  matmul: MATMUL, transpose: TRANSPOSE, multiply: MULTIPLY,
  squared_error: SQUARED_ERROR, margin_loss: MARGIN_LOSS,
};

function rulesOf(op) {
  if (ARITHMETIC[op]) return ARITHMETIC[op];
  if (ACTIVATIONS[op]) return ACTIVATION;
  return op.startsWith('linear_') && ACTIVATIONS[op.slice('linear_'.length)] ? LINEAR : {};
}

// The sum of the explanations of several rules: the gradient of a tensor that is several operands of the op.
function sumOfRules(rules) {
  return (...place) => {
    const made = rules.map((rule) => rule(...place));
    if (made.some((one) => one === null)) return null;
    return {result: made.map(({result}) => result).join(', and '), terms: made.flatMap(({terms}) => terms)};
  };
}

// of: 'output', the name of another tensor of the op, or the names of several operands that are one tensor, whose
// gradient is explained. Null if the page has no arithmetic for it.
function arithmeticOf(step, node, of) {
  const rules = [of].flat().map((name) => rulesOf(node.op)[name]);
  if (!rules.every(Boolean)) return null;
  const rule = rules.length === 1 ? rules[0] : sumOfRules(rules), tensors = tensorsOf(step, node);
  return (row, column) => rule(node, tensors, row, column);
}
