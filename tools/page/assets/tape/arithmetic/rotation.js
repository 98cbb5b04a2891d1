// Rotary position embedding: pairs of features of a head, and their rotation as sums of products.
'use strict';

// Whether the pairs are (2i, 2i + 1), or (i, i + dims/2).
function isInterleaved(node) {
  return node.attributes.pairs !== 'half-split';
}

// The pair of a feature of a head, and whether it is the first of the two; null if it is not rotated.
function rotatedPair(node, feature) {
  const dims = attributeOf(node, 'rotary', 0);
  if (feature >= dims) return null;
  if (isInterleaved(node))
    return {pair: Math.floor(feature / 2), isFirst: feature % 2 === 0, partner: feature ^ 1};
  const isFirst = feature < dims / 2;
  return {pair: isFirst ? feature : feature - dims / 2, isFirst, partner: feature + (isFirst ? 1 : -1) * dims / 2};
}

// The first and the second feature of a pair.
function featuresOfPair(node, pair) {
  const dims = attributeOf(node, 'rotary', 0);
  return isInterleaved(node) ? [2 * pair, 2 * pair + 1] : [pair, pair + dims / 2];
}

// The rotated feature, or, turned back (the transpose), the gradient of the feature before the rotation, as a sum of
// factors of features: [{feature, factor, name}].
function turned(node, angles, row, feature, back) {
  const pair = angles ? rotatedPair(node, feature) : null;
  if (!pair) return [{feature, factor: 1, name: null}];
  const m = attributeOf(node, 'magnitude', 1), angle = angles.at(row, pair.pair);
  const isPositive = pair.isFirst === back, prefix = m === 1 ? '' : `${m} `;
  return [
    {feature, factor: m * Math.cos(angle), name: `${prefix}cos θ`},
    {
      feature: pair.partner,
      factor: (isPositive ? m : -m) * Math.sin(angle),
      name: `${isPositive ? '' : '−'}${prefix}sin θ`,
    },
  ];
}

// The pair of an element as arrows before and after the rotation. at(feature): the element before it.
function turnOf(node, angles, row, feature, back, at) {
  const pair = angles ? rotatedPair(node, feature) : null;
  if (!pair) return undefined;
  const features = featuresOfPair(node, pair.pair), before = features.map(at);
  const after = features.map((own) => turned(node, angles, row, own, back).reduce(
      (sum, part) => sum + part.factor * at(part.feature), 0));
  const angle = angles.at(row, pair.pair);
  return {pair: pair.pair, before, after, angle: back ? -angle : angle, back};
}

// An element of a rotated tensor, from the tensor before the rotation.
function rotationExplanation(node, t, from, names, i, j, back) {
  const heads = attributeOf(node, 'heads', 1), width = t.y.columns / heads, head = Math.floor(j / width);
  const parts = turned(node, t.angles, i, j % width, back), at = (feature) => from?.at(i, head * width + feature);
  const terms = parts.map(({feature, factor, name}) => {
    const x = [`${names.from}[${i}, ${head * width + feature}]`, at(feature)];
    return name === null ? product(x) : product([name, factor], x);
  });
  const rotation = parts.length === 1 ? names.from : back ? `the transpose of the rotation of ${names.from}` :
                                                            `the rotation of ${names.from}`;
  return explanation(`${names.to}[${i}, ${j}] = ${rotation}`, terms,
                     {turn: turnOf(node, t.angles, i, j % width, back, at)});
}

const ROPE = {
  output: (node, t, i, j) => rotationExplanation(node, t, t.x, {from: 'x', to: 'y'}, i, j, false),
  x: (node, t, i, j) => rotationExplanation(node, t, t.dy, {from: 'dy', to: 'dx'}, i, j, true),
  frequencies(node, t, _, pair) {
    const heads = attributeOf(node, 'heads', 1), width = t.y.columns / heads, step = attributeOf(node, 'step', 1);
    const [first, second] = featuresOfPair(node, pair);
    const terms = range(t.y.rows).flatMap((i) => range(heads).flatMap((head) => {
      const position = [`position[${i}]`, step * entry(t.positions, i)];
      const [a, b] = [first, second].map((feature) => head * width + feature);
      return [product(position, [`dy[${i}, ${b}]`, t.dy?.at(i, b)], [`y[${i}, ${a}]`, t.y.at(i, a)]),
              product(['−1', -1], position, [`dy[${i}, ${a}]`, t.dy?.at(i, a)], [`y[${i}, ${b}]`, t.y.at(i, b)])];
    }));
    return explanation(`dfrequencies[${pair}] = Σ position (dy2 y1 − dy1 y2)`, terms);
  },
};
