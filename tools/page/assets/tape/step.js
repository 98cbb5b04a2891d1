// The recorded step, the operands of its ops, and finite differences of its loss.
'use strict';

// The training step: nodes, positions of the walk, and modules.
// One place of the walk: the forward of an op, or its backward.
class Position {
  constructor(pass, node, record = null) {
    Object.assign(this, {pass, node, record});
  }
}

class Step {
  constructor(data) {
    Object.assign(this, data);
    this.tensors = new WeakMap();
    this.users = this.nodes.map(() => []);
    for (const node of this.nodes) {
      for (const from of new Set((node.inputs ?? []).map((input) => input.node))) {
        if (from !== undefined) this.users[from].push(node.id);
      }
    }
    for (const node of this.nodes) {
      if (node.differences) this.tensor(node.gradient).differences = node.differences;
    }
    this.positions = this.nodes.filter((node) => node.inputs).map((node) => new Position('forward', node));
    this.forwards = this.positions.length;
    this.positions.push(...this.steps.map((record) => new Position('backward', this.nodes[record.node], record)));
    this.places = {forward: new Map(), backward: new Map()};
    this.positions.forEach((position, i) => this.places[position.pass].set(position.node.id, i));
    this.whole = this.modules[0];
  }

  // Undefined for an absent sample.
  tensor(sample) {
    if (!sample) return undefined;
    if (!this.tensors.has(sample)) this.tensors.set(sample, new Tensor(sample));
    return this.tensors.get(sample);
  }

  value(node) {
    return this.tensor(node.value);
  }

  inputValue(input) {
    return this.tensor(input.node === undefined ? input.value : this.nodes[input.node].value);
  }

  // The place of the node's op in the pass, or else in forward. A parameter has that of the first op that uses it.
  placeOf(id, pass) {
    const node = this.nodes[id];
    if (!node.inputs) return this.users[id].length > 0 ? this.placeOf(this.users[id][0], pass) : 0;
    return this.places[pass].get(id) ?? this.places.forward.get(id);
  }

  name(id) {
    const node = this.nodes[id];
    return node.parameter ?? node.name ?? `${node.op} (node ${id})`;
  }

  seconds(node) {
    return (node.forward_seconds ?? 0) + (node.backward_seconds ?? 0);
  }
}

// Names of a module path, with numbers as part of the name before them: encoder, layers.0, self_attn.
function modulePath(module) {
  const names = [];
  for (const name of (module ?? '').split('.')) {
    if (/^\d+$/.test(name) && names.length > 0) {
      names[names.length - 1] += `.${name}`;
    } else if (name !== '') {
      names.push(name);
    }
  }
  return names;
}

// The model as a tree: modules in the order of their first op, ops, and the parameters of each op.
function moduleTree(step) {
  const root = {kind: 'module', label: 'whole step', path: '', cost: step.whole, children: []};
  const byPath = new Map([['', root]]);
  const totals = new Map(step.modules.map((module) => [module.path, module]));
  for (const node of step.nodes.filter((candidate) => candidate.inputs)) {
    let parent = root;
    for (const label of modulePath(node.module)) {
      const path = parent.path === '' ? label : `${parent.path}.${label}`;
      if (!byPath.has(path)) {
        byPath.set(path, {kind: 'module', label, path, cost: totals.get(path), children: []});
        parent.children.push(byPath.get(path));
      }
      parent = byPath.get(path);
    }
    parent.children.push(opItem(step, node));
  }
  return root;
}

function opItem(step, node) {
  const ids = new Set(node.inputs.map((input) => input.node).filter((id) => id !== undefined));
  const parameters = [...ids].filter((id) => step.nodes[id].parameter);
  return {
    kind: 'op',
    label: node.op,
    node: node.id,
    path: node.module ?? '',
    cost: {seconds: step.seconds(node), flops: node.flops, saved_bytes: node.saved_bytes},
    children: parameters.map((id) => (
      {kind: 'parameter', label: step.nodes[id].parameter, node: id, path: node.module ?? '', children: []})),
  };
}

// The names that an op's formula gives to its inputs and its output, and the formula with their shapes.

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
  linear_attention_scan: ['out', 'q', 'k', 'v'],
  rope: ['y', 'x', 'frequencies'],
  segment_mean: ['y', 'x'],
  // The elementary ops (autograd/elementary.h).
  subtract: ['y', 'a', 'b'],
  multiply: ['y', 'a', 'b'],
  divide: ['y', 'a', 'b'],
  maximum: ['y', 'a', 'b'],
  where: ['y', 'a', 'b'],
  matmul: ['y', 'a', 'b'],
};

// Those of one operand.
const ELEMENTARY_OF_X = new Set(['exp', 'log', 'sqrt', 'sin', 'cos', 'erf', 'sigmoid', 'pow', 'as_stored', 'cast',
                                 'transpose', 'reshape', 'slice', 'gather_rows', 'sum', 'mean', 'max', 'softmax',
                                 'log_softmax', 'loss_sum']);

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
                                      ACTIVATIONS[node.op] || ELEMENTARY_OF_X.has(node.op) ? ['y', 'x'] : ['output']);
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
  return element('div', {class: `formula ${pass}`, tabindex: 0, role: 'group', 'aria-label': 'formula'},
                 ...lines.map((line) => formulaLine(line, shapes)));
}

// Gradients beside finite differences of the loss, measured in f64 when the page was made.

// The largest relative difference that rounding in fp32 explains; bf16 and TF32 round too much for such a comparison.
const DIFFERENCE_TOLERANCE = 0.01;
const DIFFERENCE_NOISE = 1e-6; // rounding of the difference itself: a gradient that is zero may have this much

// Undefined if the element was not measured.
function differenceAt(tensor, row, column) {
  return tensor.differences?.find((difference) => difference.row === row && difference.column === column);
}

// A line about the element, or null.
function differenceView(tensor, row, column, precision) {
  const difference = differenceAt(tensor, row, column);
  if (!difference) return null;
  const analytic = tensor.at(row, column), numeric = difference.value;
  const largest = Math.max(Math.abs(analytic), Math.abs(numeric)), isZero = largest <= DIFFERENCE_NOISE;
  const gap = Math.abs(analytic - numeric), relative = gap / largest;
  const isEqual = gap <= DIFFERENCE_NOISE || relative <= DIFFERENCE_TOLERANCE;
  const verdict = precision !== 'fp32' ? 'rounded' : isEqual ? 'agrees' : 'disagrees';
  const text = `finite difference of the loss ${valueText(numeric, 8)}, gradient ${valueText(analytic, 8)}: ` +
      (isZero ? 'both are zero up to rounding' : `relative difference ${valueText(relative, 2)}`) +
      (verdict === 'rounded' ? ` (the step rounds to ${precision})` : '');
  return element('p', {class: `finite ${verdict}`}, text);
}

function differencesNote(tensor) {
  const count = tensor.differences?.length ?? 0;
  if (count === 0) return [];
  const marked = count === 1 ? 'The marked element has a finite difference' :
                               `The ${count} marked elements have finite differences`;
  return [element('p', {class: 'extent'}, `${marked}; the key d chooses ${count === 1 ? 'it' : 'the next one'}.`)];
}
