// The ops of linear attention.
'use strict';

// The columns of a head in a tensor with the columns of all heads.
function columnsOfHead(node, tensor, head) {
  const width = tensor.columns / attributeOf(node, 'heads', 1);
  return range(width).map((f) => head * width + f);
}

function headOf(node, tensor, column) {
  return Math.floor(column / (tensor.columns / attributeOf(node, 'heads', 1)));
}

function dot(a, i, b, j, columns) {
  return columns.reduce((sum, k) => sum + (a?.at(i, k) ?? NaN) * (b?.at(j, k) ?? NaN), 0);
}

const HEAD_SOFTMAX = {
  output(node, t, i, j) {
    const columns = columnsOfHead(node, t.x, headOf(node, t.x, j));
    const largest = Math.max(...columns.map((k) => t.x.at(i, k)));
    const terms = columns.map((k) => product([`exp(x[${i}, ${k}] − max)`, Math.exp(t.x.at(i, k) - largest)]));
    return explanation(`y[${i}, ${j}] = exp(x[${i}, ${j}] − max) / Σ exp(x[${i}, k] − max), over the head's columns k`,
                       terms, {value: Math.exp(t.x.at(i, j) - largest) / sumOf(terms)});
  },
  x(node, t, i, j) {
    const own = product([`y[${i}, ${j}]`, t.y.at(i, j)], [`dy[${i}, ${j}]`, t.dy?.at(i, j)]);
    return explanation(`dx[${i}, ${j}] = y[${i}, ${j}] (dy[${i}, ${j}] − Σ y[${i}, k] dy[${i}, k])`, [
      own, ...columnsOfHead(node, t.x, headOf(node, t.x, j)).map((k) => product(
          [`−y[${i}, ${j}]`, -t.y.at(i, j)], [`y[${i}, ${k}]`, t.y.at(i, k)], [`dy[${i}, ${k}]`, t.dy?.at(i, k)])),
    ]);
  },
};

// The rows of the keys that a query reads; of the queries that read a key if isReversed. Null with several segments,
// whose ends the page does not have.
function scanRows(node, t, row, isReversed) {
  if (attributeOf(node, 'segments', 0) !== 1) return null;
  const reversed = {before: 'after', after: 'before', all: 'all'};
  const direction = isReversed ? reversed[node.attributes.direction] : node.attributes.direction;
  return range(t.y.rows).filter((n) => direction === 'all' || (direction === 'before' ? n <= row : n >= row));
}

// Without values, the output is the sum of the products of features, and v_n . dout_m is dout_m.
function valueProduct(node, t, m, n, head) {
  if (!t.v) return [`dout[${m}, ${head}]`, t.dy?.at(m, head)];
  return [`(dout[${m}] · v[${n}])`, dot(t.dy, m, t.v, n, columnsOfHead(node, t.v, head))];
}

const LINEAR_ATTENTION_SCAN = {
  output(node, t, m, c) {
    const head = headOf(node, t.y, c), features = columnsOfHead(node, t.q, head);
    const term = (n) => product([`(q[${m}] · k[${n}])`, dot(t.q, m, t.k, n, features)],
                                ...(t.v ? [[`v[${n}, ${c}]`, t.v.at(n, c)]] : []));
    const value = t.v ? ` v[n, ${c}]` : '';
    return scanRows(node, t, m, false) &&
        explanation(`out[${m}, ${c}] = Σ (q[${m}] · k[n])${value}`, scanRows(node, t, m, false).map(term));
  },
  q(node, t, m, f) {
    const head = headOf(node, t.q, f);
    return scanRows(node, t, m, false) && explanation(
        `dq[${m}, ${f}] = Σ (dout[${m}] · v[n]) k[n, ${f}]`, scanRows(node, t, m, false).map(
            (n) => product(valueProduct(node, t, m, n, head), [`k[${n}, ${f}]`, t.k.at(n, f)])));
  },
  k(node, t, n, f) {
    const head = headOf(node, t.k, f);
    return scanRows(node, t, n, true) && explanation(
        `dk[${n}, ${f}] = Σ (dout[m] · v[${n}]) q[m, ${f}]`, scanRows(node, t, n, true).map(
            (m) => product(valueProduct(node, t, m, n, head), [`q[${m}, ${f}]`, t.q.at(m, f)])));
  },
  v(node, t, n, c) {
    const features = columnsOfHead(node, t.q, headOf(node, t.v, c)), dout = (m) => [`dout[${m}, ${c}]`, t.dy?.at(m, c)];
    return scanRows(node, t, n, true) && explanation(
        `dv[${n}, ${c}] = Σ (q[m] · k[${n}]) dout[m, ${c}]`, scanRows(node, t, n, true).map(
            (m) => product([`(q[${m}] · k[${n}])`, dot(t.q, m, t.k, n, features)], dout(m))));
  },
};
