// The training step: nodes, positions of the walk, and modules.
'use strict';

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
