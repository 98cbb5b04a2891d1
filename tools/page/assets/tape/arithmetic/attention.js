// Softmax attention. The page has the numbers of the first segment, and queries, keys and values of the first head of
// keys and values with the heads of queries that share it: the group.
'use strict';

function attentionShape(node, t) {
  const heads = attributeOf(node, 'heads', 1), keyHeads = attributeOf(node, 'key/value heads', heads);
  const [, queries, keys] = t.S.shape, width = t.y.columns / heads;
  return {
    heads, queries, keys, width,
    group: heads / keyHeads,
    keyColumns: keyHeads * width,
    scale: attributeOf(node, 'scale', 1 / Math.sqrt(width)),
  };
}

// Head and feature of a column; null outside the group and the first segment.
function ownColumn(shape, rows, i, column, heads) {
  const head = Math.floor(column / shape.width);
  return i < rows && head < heads ? {head, feature: column % shape.width} : null;
}

// keep P, for one row of one head.
function droppedWeights(shape, t, head, i) {
  const row = head * shape.queries + i;
  return range(shape.keys).map((j) => t.P.at(row, j) * (t.keep ? t.keep.at(row, j) : 1));
}

// dS of one row, with the numbers whose difference it is: P dP and P D.
function scoreGradients(shape, t, head, i) {
  const row = head * shape.queries + i, keys = range(shape.keys), {width} = shape;
  const dP = keys.map((j) => (t.keep ? t.keep.at(row, j) : 1) * sumOfProducts(
      width, (f) => t['own dout']?.at(i, head * width + f), (f) => t['own v'].at(j, f)));
  const P = keys.map((j) => t.P.at(row, j)), D = sumOfProducts(shape.keys, (j) => P[j], (j) => dP[j]);
  return keys.map((j) => ({dS: P[j] * (dP[j] - D), magnitude: P[j] * (Math.abs(dP[j]) + Math.abs(D))}));
}

function sumOfProducts(n, a, b) {
  let sum = 0;
  for (let k = 0; k < n; ++k) sum += a(k) * b(k);
  return sum;
}

// scale Σ dS x, turned back where the op rotates: an element of dq or dk. sources: [{gradient, name, x}], with
// x(feature) and its name. before(feature): the same sum before it is turned back.
function turnedBackSum(node, shape, angles, row, feature, sources, result) {
  const {scale} = shape, terms = [];
  let magnitude = 0;
  const before = (f) => scale * sumOfProducts(sources.length, (n) => sources[n].gradient.dS, (n) => sources[n].x(f));
  for (const part of turned(node, angles, row, feature, true)) {
    for (const {gradient, names, x} of sources) {
      const factors = [['scale', scale], [names.dS, gradient.dS], [`${names.x}, ${part.feature}]`, x(part.feature)]];
      terms.push(product(...(part.name ? [[part.name, part.factor]] : []), ...factors));
      magnitude += Math.abs(part.factor * scale * gradient.magnitude * x(part.feature));
    }
  }
  return explanation(result, terms, {magnitude, turn: turnOf(node, angles, row, feature, true, before)});
}

function backText(angles) {
  return angles ? ', turned back by the transpose of the rotation' : '';
}

const ATTENTION_SUMS = {
  dq(node, t, i, column) {
    const shape = attentionShape(node, t), own = ownColumn(shape, shape.queries, i, column, shape.group);
    if (!own || t.query_table || t.value_table) return null;
    const {head, feature} = own, angles = t['query angles'];
    const sources = scoreGradients(shape, t, head, i).map((gradient, j) => (
      {gradient, names: {dS: `dS[${head}, ${i}, ${j}]`, x: `k[${j}`}, x: (f) => t['own k'].at(j, f)}));
    return turnedBackSum(node, shape, angles, i, feature, sources,
                         `dq[${i}, ${column}] = scale Σ dS[${head}, ${i}, j] k[j, ${feature}]${backText(angles)}`);
  },
  dk(node, t, j, column) {
    const shape = attentionShape(node, t), own = ownColumn(shape, shape.keys, j, column, 1);
    if (!own || t.key_table || t.value_table) return null;
    const {feature} = own, angles = t['key angles'] ?? t['query angles'];
    const sources = range(shape.group).flatMap((head) => range(shape.queries).map((i) => ({
      gradient: scoreGradients(shape, t, head, i)[j],
      names: {dS: `dS[${head}, ${i}, ${j}]`, x: `q[${i}, head ${head}`},
      x: (f) => t['own q'].at(i, head * shape.width + f),
    })));
    return turnedBackSum(node, shape, angles, j, feature, sources,
                         `dk[${j}, ${column}] = scale Σ dS[h, i, ${j}] q[i, ${feature}]${backText(angles)}`);
  },
  dv(node, t, j, column) {
    const shape = attentionShape(node, t), own = ownColumn(shape, shape.keys, j, column, 1);
    if (!own) return null;
    const P = t.keep ? 'keep P' : 'P';
    const terms = range(shape.group).flatMap((head) => range(shape.queries).map((i) => product(
        [`${P}[${head}, ${i}, ${j}]`, droppedWeights(shape, t, head, i)[j]],
        [`dout[${i}, ${head * shape.width + own.feature}]`,
         t['own dout']?.at(i, head * shape.width + own.feature)])));
    return explanation(`dv[${j}, ${column}] = Σ ${P}[h, i, ${j}] dout[i, ${own.feature}]`, terms);
  },
};

// The gradient of an input that holds several projections side by side: the names of their sums, in order.
function packedGradient(...names) {
  return (node, t, row, column) => {
    const {keyColumns} = attentionShape(node, t);
    for (const name of names) {
      const columns = name === 'dq' ? t.y.columns : keyColumns;
      if (column < columns) return ATTENTION_SUMS[name](node, t, row, column);
      column -= columns;
    }
    return null;
  };
}

// Head, query and the largest score of a row of S or P.
function scoreRow(shape, t, row) {
  const scores = range(shape.keys).map((j) => t.S.at(row, j));
  return {head: Math.floor(row / shape.queries), i: row % shape.queries, scores, largest: Math.max(...scores)};
}

const ATTENTION = {
  output(node, t, i, column) {
    const shape = attentionShape(node, t), own = ownColumn(shape, shape.queries, i, column, shape.group);
    if (!own || t.value_table) return null;
    const {head, feature} = own, P = t.keep ? 'keep P' : 'P';
    return explanation(`out[${i}, ${column}] = Σ ${P}[${head}, ${i}, j] v[j, ${feature}]`,
                       droppedWeights(shape, t, head, i).map((weight, j) => product(
                           [`${P}[${head}, ${i}, ${j}]`, weight], [`v[${j}, ${feature}]`, t['own v'].at(j, feature)])));
  },
  S(node, t, row, j) {
    const shape = attentionShape(node, t), {head, i} = scoreRow(shape, t, row), {width} = shape;
    if (head >= shape.group) return null;
    const terms = range(width).map((f) => product(
        ['scale', shape.scale], [`q[${i}, ${f}]`, t['own q'].at(i, head * width + f)],
        [`k[${j}, ${f}]`, t['own k'].at(j, f)]));
    const added = t['position scores'];
    if (added) terms.push(product(['position scores', added.at(row, j)]));
    const rotated = t['query angles'] ? ', q and k rotated' : '';
    return explanation(
        `S[${head}, ${i}, ${j}] = scale Σ q[${i}, f] k[${j}, f]${added ? ' + position scores' : ''}${rotated}`, terms);
  },
  P(node, t, row, j) {
    const {head, i, scores, largest} = scoreRow(attentionShape(node, t), t, row);
    if (scores[j] === -Infinity)
      return explanation(`P[${head}, ${i}, ${j}] = 0: the query does not see this key`, []);
    const parts = scores.map((score) => Math.exp(score - largest)), sum = parts.reduce((all, part) => all + part, 0);
    const factors = [[`exp(${valueText(scores[j], 4)} − ${valueText(largest, 4)})`, parts[j]],
                     [`1 / ${valueText(sum, 4)}`, 1 / sum]];
    return explanation(`P[${head}, ${i}, ${j}] = exp(S[${head}, ${i}, ${j}] − max) / Σ exp(S[${head}, ${i}, k] − max)`,
                       [product(...factors)],
                       {magnitude: parts[j] / sum * (1 + 2 * Math.abs(largest) + Math.abs(scores[j]))});
  },
  lse(node, t, head, i) {
    const shape = attentionShape(node, t);
    if (i >= shape.queries) return null;
    const {scores, largest} = scoreRow(shape, t, head * shape.queries + i);
    const terms = scores.map((score, j) => (
      {text: `exp(S[${head}, ${i}, ${j}] − max)`, value: Math.exp(score - largest)}));
    return explanation(`lse[${head}, ${i}] = max + log Σ exp(S[${head}, ${i}, j] − max)`, terms,
                       {value: largest + Math.log(sumOf(terms)), magnitude: Math.abs(largest) + 1});
  },
  '[q | k | v]': packedGradient('dq', 'dk', 'dv'),
  '[k | v]': packedGradient('dk', 'dv'),
  q: packedGradient('dq'),
  k: packedGradient('dk'),
  v: packedGradient('dv'),
};
