// Losses: cross-entropy, of stored logits and fused with the linear layer that makes them, squared error and margin
// loss.
'use strict';

// The numbers of a row of logits; null if the page does not have all of it. Steps of pages have no z-loss.
function lossRow(node, logits, targets, i) {
  const row = range(logits.columns).map((j) => logits.at(i, j)), target = entry(targets, i);
  if (target === undefined || !row.every(Number.isFinite)) return null;
  const largest = Math.max(...row), sum = row.reduce((all, x) => all + Math.exp(x - largest), 0);
  return {
    row, target,
    lse: largest + Math.log(sum),
    smoothing: attributeOf(node, 'smoothing', 0),
  };
}

// The terms of the loss of one row: lse − (1 − ε) x_t − ε mean(x).
function rowLossTerms(i, {row, target, lse, smoothing}) {
  const terms = [product([`lse[${i}]`, lse]),
                 product(['−(1 − ε)', smoothing - 1], [`logits[${i}, ${target}]`, row[target]])];
  if (smoothing > 0) terms.push(product(['−ε', -smoothing], [`mean(logits[${i}])`, meanOf(row)]));
  return terms;
}

function lossExplanation(node, logits, targets) {
  const rows = range(logits.rows).filter((i) => !(entry(targets, i) < 0));
  const parts = rows.map((i) => lossRow(node, logits, targets, i));
  if (parts.some((part) => part === null)) return null;
  return explanation(`loss = Σ lse[i] − (1 − ε) logits[i, t] − ε mean(logits[i]) over rows i with target t`,
                     parts.flatMap((part, n) => rowLossTerms(rows[n], part)));
}

// name: of the gradient of the logits. dloss: the gradient of the loss; absent where it is 1.
function logitGradient(node, name, logits, targets, i, j, dloss) {
  if (entry(targets, i) < 0) return explanation(`${name}[${i}, ${j}] = 0: the row has no target`, []);
  const part = lossRow(node, logits, targets, i);
  if (!part) return null;
  const {row, target, lse, smoothing} = part, factors = dloss === undefined ? [] : [['dloss', dloss]];
  const terms = [product(...factors, [`p[${i}, ${j}]`, Math.exp(row[j] - lse)])];
  if (j === target) terms.push(product(...factors, ['−(1 − ε), for the target', smoothing - 1]));
  if (smoothing > 0) terms.push(product(...factors, [`−ε / ${row.length}`, -smoothing / row.length]));
  const sum = `p − (1 − ε) [${j} is the target] − ε / v`;
  return explanation(`${name}[${i}, ${j}] = ${dloss === undefined ? sum : `dloss (${sum})`},  p = exp(logit − lse)`,
                     terms);
}

// The op ends the step: dloss is 1.
const LINEAR_CROSS_ENTROPY = {
  output: (node, t) => (t.logits.rows < t.x.rows ? null : lossExplanation(node, t.logits, t.targets)),
  logits(node, t, i, j) {
    const bias = t.bias ? ` + bias[${j}]` : '';
    return explanation(`logits[${i}, ${j}] = Σ x[${i}, k] w[${j}, k]${bias}`, linearTerms(t, i, j));
  },
  dlogits: (node, t, i, j) => logitGradient(node, 'dlogits', t.logits, t.targets, i, j),
  x(node, t, i, k) {
    return explanation(`dx[${i}, ${k}] = Σ dlogits[${i}, j] w[j, ${k}]`, range(t.w.rows).map((j) => product(
        [`dlogits[${i}, ${j}]`, t.dlogits.at(i, j)], [`w[${j}, ${k}]`, t.w.at(j, k)])));
  },
  w(node, t, j, k) {
    return explanation(`dw[${j}, ${k}] = Σ dlogits[i, ${j}] x[i, ${k}]`, range(t.x.rows).map((i) => product(
        [`dlogits[${i}, ${j}]`, t.dlogits.at(i, j)], [`x[${i}, ${k}]`, t.x.at(i, k)])));
  },
  bias(node, t, _, j) {
    return explanation(`dbias[${j}] = Σ dlogits[i, ${j}]`, range(t.x.rows).map(
        (i) => product([`dlogits[${i}, ${j}]`, t.dlogits.at(i, j)])));
  },
};

const CROSS_ENTROPY = {
  output: (node, t) => lossExplanation(node, t.x, t.targets),
  x: (node, t, i, j) => logitGradient(node, 'dx', t.x, t.targets, i, j, t.dy?.at(0, 0)),
};

const SQUARED_ERROR = {
  output: (node, t) => explanation('loss = Σ (x[i] − target[i])²', range(t.x.size).map((i) => (
    {text: `(x[${i}] − target[${i}])²`, value: (flatEntry(t.x, i) - entry(t.targets, i)) ** 2}))),
  x(node, t, i, j) {
    const k = i * t.x.columns + j, error = t.x.at(i, j) - entry(t.targets, k);
    return explanation(`dx[${k}] = 2 dloss (x − target)`,
                       [product(['2', 2], ['dloss', t.dy?.at(0, 0)], [`(x[${k}] − target[${k}])`, error])]);
  },
};

// An element of a tensor as if it had one axis.
function flatEntry(tensor, i) {
  return tensor.at(Math.floor(i / tensor.columns), i % tensor.columns);
}

function marginOf(node, t, pair) {
  return attributeOf(node, 'margin', 0) - flatEntry(t.scores, 2 * pair) + flatEntry(t.scores, 2 * pair + 1);
}

const MARGIN_LOSS = {
  output: (node, t) => explanation('loss = Σ max(0, margin − scores[2i] + scores[2i + 1])',
                                   range(t.scores.size / 2).map((pair) => ({
                                     text: `max(0, ${valueText(marginOf(node, t, pair), 4)}) of pair ${pair}`,
                                     value: Math.max(0, marginOf(node, t, pair)),
                                   }))),
  scores(node, t, i, j) {
    const k = i * t.scores.columns + j, pair = Math.floor(k / 2), isActive = marginOf(node, t, pair) > 0;
    const sign = !isActive ? 0 : k % 2 === 0 ? -1 : 1;
    return explanation(`dscores[${k}] = ±dloss if the pair is within the margin, else 0`,
                       [product(['sign', sign], ['dloss', t.dy?.at(0, 0)])]);
  },
};
