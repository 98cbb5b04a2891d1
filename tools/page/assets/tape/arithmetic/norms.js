// Layer norm, alone and after a residual connection, and RMS norm.
'use strict';

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
