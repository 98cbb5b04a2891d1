// The names that an op's formula gives to its inputs and its output, and the formula with their shapes.
'use strict';

const OPERANDS = {
  linear: ['y', 'x', 'w', 'bias'],
  linear_cross_entropy: ['loss', 'x', 'w', 'bias'],
  linear_r_drop: ['loss', 'x', 'w', 'bias'],
  cross_entropy: ['loss', 'x'],
  squared_error: ['loss', 'x'],
  margin_loss: ['loss', 'scores'],
  layer_norm: ['y', 'x', 'gamma', 'beta'],
  rms_norm: ['y', 'x', 'gamma'],
  residual_layer_norm: ['y', 'residual', 'x', 'gamma', 'beta'],
  residual_dropout: ['y', 'residual', 'x'],
  dropout: ['y', 'x'],
  embedding: ['y', 'table'],
  add: ['y', 'a', 'b'],
  scale: ['y', 'x'],
  gated_activation: ['y', 'x'],
  head_dot: ['y', 'x', 'w'],
  head_divide: ['y', 'a', 'b'],
  head_softmax: ['y', 'x'],
  linear_attention_scan: ['out', 'q', 'k', 'v'],
  rope: ['y', 'x', 'frequencies'],
  segment_mean: ['y', 'x'],
  // The basic ops of the reference (autograd/reference.h).
  matmul: ['y', 'a', 'b'],
  transpose: ['y', 'a'],
  multiply: ['y', 'a', 'b'],
  map: ['y', 'a'],
  gather: ['y', 'a'],
};

const ATTENTION_TERMS =
    ['frequencies', 'bias', 'query_table', 'key_table', 'value_table', 'pos_queries', 'pos_keys', 'v'];

// Attention has queries, keys and values in one to three inputs.
function attentionNames(node) {
  const has = (i) => node.inputs[i] && (node.inputs[i].node !== undefined || node.inputs[i].value);
  const first = has(9) ? ['q', 'k'] : has(1) ? ['q', '[k | v]'] : ['[q | k | v]', ''];
  return ['out', ...first, ...ATTENTION_TERMS];
}

// The name of the output, then those of the inputs.
function operandNames(node) {
  if (node.op === 'attention') return attentionNames(node);
  const names = OPERANDS[node.op] ?? (rulesOf(node.op) === LINEAR ? OPERANDS.linear :
                                      ACTIVATIONS[node.op] ? ['y', 'x'] : ['output']);
  return [names[0], ...node.inputs.map((_, i) => names[i + 1] ?? `input ${i}`)];
}

// The inputs that are present, with their names.
function operandsOf(step, node) {
  const names = operandNames(node);
  return node.inputs.map((input, i) => ({name: names[i + 1], input, value: step.inputValue(input), number: i}))
      .filter((operand) => operand.value !== undefined);
}

// The operands with gradients. Those that are one tensor, as in x * x, are one entry: `of` has their names.
function operandsWithGradients(step, node) {
  const entries = new Map();
  for (const operand of operandsOf(step, node)) {
    const id = operand.input.node;
    if (id === undefined) continue;
    if (!entries.has(id)) entries.set(id, {...operand, of: []});
    entries.get(id).of.push(operand.name);
  }
  return [...entries.values()].map((entry) => ({...entry, name: entry.of.join(' + d')}));
}

// Shapes by the names in the formula.
function operandShapes(step, node) {
  const shapes = new Map([[operandNames(node)[0], step.value(node).shape]]);
  for (const operand of operandsOf(step, node)) shapes.set(operand.name, operand.value.shape);
  for (const saved of node.saved) shapes.set(saved.name, saved.value.shape);
  for (const [name, shape] of [...shapes]) shapes.set(`d${name}`, shape);
  return shapes;
}

// A line of a formula, with the shape of each operand at its first occurrence.
function formulaLine(line, shapes) {
  const seen = new Set();
  const parts = line.split(/([A-Za-z_]+)/).map((word) => {
    if (!shapes.has(word) || seen.has(word)) return word;
    seen.add(word);
    return element('span', {class: 'operand'}, word, element('sub', {}, shapeText(shapes.get(word))));
  });
  return element('div', {class: /^\s/.test(line) ? 'backward line' : 'forward line'}, ...parts);
}

function formulaView(step, node, pass) {
  const lines = (step.formulas[node.op] ?? '').split('\n').filter((line) => line.trim() !== '');
  const shapes = operandShapes(step, node);
  return element('div', {class: `formula ${pass}`}, ...lines.map((line) => formulaLine(line, shapes)));
}
