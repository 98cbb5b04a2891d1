// A data-parallel step of several ranks: the buckets of the gradient, when they leave and when their sums arrive, and
// the gradients of all ranks.
'use strict';

const BYTES_PER_ELEMENT = 4; // gradients are exchanged as fp32

// Whether the sum of the ranks' values is the one that the all-reduce made: 'exact', 'rounded' or 'differs'.
function compareSums(values, stored, precision) {
  const sum = values.reduce((all, value) => Math.fround(all + value));
  if (Object.is(sum, stored) || sum === stored) return 'exact';
  const size = values.reduce((all, value) => all + Math.abs(value), 0);
  return Math.abs(sum - stored) <= tolerance(precision) * size ? 'rounded' : 'differs';
}

class Ranks {
  constructor(step) {
    const {parameters, buckets, ranks} = step.ranks;
    Object.assign(this, {step, parameters, buckets, ranks, size: ranks.length});
    this.start = Math.min(...ranks.map((rank) => rank.backward[0][1]));
    this.end = Math.max(...ranks.map((rank) => rank.end));
    this.predictions = ranks.reduce((sum, rank) => sum + rank.predictions, 0);
    this.ofNode = new Map(parameters.map((parameter, number) => [parameter.node, number]));
    this.places = new Map(); // place of the step after which a gradient is final, by the node of the parameter
    step.steps.forEach((record, place) => record.final.forEach((node) => this.places.set(node, place)));
  }

  since(seconds) {
    return timeText(seconds - this.start);
  }

  bytes(bucket) {
    return memoryText(BYTES_PER_ELEMENT * bucket.elements);
  }

  hasTable(bucket) {
    return bucket.parts.some(([parameter]) => this.parameters[parameter].is_table);
  }

  // Numbers of the buckets that leave after the backward of a node.
  leavingAfter(node) {
    return [...this.buckets.keys()].filter((number) => this.buckets[number].node === node);
  }

  // The buckets of these parameters that wait for the gradients of later steps: [number, gradients left].
  waitingAfter(record) {
    const finals = new Set(record.final.map((node) => this.ofNode.get(node))), place = this.step.steps.indexOf(record);
    return [...this.buckets.entries()].filter(([, {parts}]) => parts.some(([parameter]) => finals.has(parameter)))
        .map(([number, {parts}]) => [number, parts.filter(([parameter]) => this.isLater(parameter, place)).length])
        .filter(([, left]) => left > 0);
  }

  // Buckets do not wait for the lookups in a table.
  isLater(parameter, place) {
    const {node, is_table: isTable} = this.parameters[parameter];
    return !isTable && this.places.get(node) > place;
  }

  // The node whose backward runs, or ran last, at this time on a rank; undefined after backward.
  nodeAt(rank, seconds) {
    if (seconds > rank.end_of_backward) return undefined;
    return rank.backward.findLast(([, begin]) => begin <= seconds)?.[0];
  }

  // [number of the bucket, rank] of the sums that arrive during the backward of a node.
  arrivingDuring(node) {
    return [...this.buckets.keys()].flatMap((number) => [...this.ranks.keys()].map((rank) => [number, rank]))
        .filter(([number, rank]) => {
          const {end} = this.ranks[rank].buckets[number];
          return end !== undefined && this.nodeAt(this.ranks[rank], end) === node;
        });
  }

  // The gradients of a parameter on all ranks. Those of rank 0 are in the node.
  gradients(parameter) {
    const own = this.step.nodes[parameter.node].gradient;
    return [own, ...parameter.gradients].map((sample) => this.step.tensor(sample));
  }

  // Counts of the elements on the page by the result of compareSums().
  check(parameter) {
    const counts = {exact: 0, rounded: 0, differs: 0};
    if (!parameter.sum) return counts;
    const gradients = this.gradients(parameter), sum = this.step.tensor(parameter.sum);
    sum.blocks.forEach((block, b) => block.values.forEach((stored, i) => {
      const values = gradients.map((gradient) => gradient.blocks[b].values[i]);
      ++counts[compareSums(values, stored, this.step.setting.precision)];
    }));
    return counts;
  }

  // Of all parameters.
  checkAll() {
    this.checked ??= this.parameters.map((parameter) => this.check(parameter)).reduce((all, counts) => (
      {exact: all.exact + counts.exact, rounded: all.rounded + counts.rounded, differs: all.differs + counts.differs}));
    return this.checked;
  }
}
