// Rows of tables, and means, products and quotients over rows and heads.
'use strict';

const EMBEDDING = {
  output(node, t, i, j) {
    const id = entry(t.ids, i);
    return explanation(`y[${i}, ${j}] = factor table[${id}, ${j}]`, [product(
        ['factor', attributeOf(node, 'factor', 1)], [`table[${id}, ${j}]`, t.table.at(id, j)])]);
  },
  table(node, t, id, j) {
    if (range(t.y.rows).some((i) => entry(t.ids, i) === undefined)) return null;
    const rows = range(t.y.rows).filter((i) => entry(t.ids, i) === id), factor = attributeOf(node, 'factor', 1);
    return explanation(`dtable[${id}, ${j}] = Σ factor dy[i, ${j}] over the rows i with id ${id}`, rows.map(
        (i) => product(['factor', factor], [`dy[${i}, ${j}]`, t.dy?.at(i, j)])));
  },
};

// y(n, heads), from x(n, heads * width) and w(heads * width).
const HEAD_DOT = {
  output(node, t, i, h) {
    const width = t.x.columns / t.y.columns, factor = ['factor', attributeOf(node, 'factor', 1)];
    return explanation(`y[${i}, ${h}] = factor Σ x[${i}, k] w[k] over the head's columns k`, range(width).map((f) => {
      const k = h * width + f;
      return product(factor, [`x[${i}, ${k}]`, t.x.at(i, k)], [`w[${k}]`, entry(t.w, k)]);
    }));
  },
  x(node, t, i, k) {
    const h = Math.floor(k / (t.x.columns / t.y.columns));
    return explanation(`dx[${i}, ${k}] = factor dy[${i}, ${h}] w[${k}]`, [product(
        ['factor', attributeOf(node, 'factor', 1)], [`dy[${i}, ${h}]`, t.dy?.at(i, h)], [`w[${k}]`, entry(t.w, k)])]);
  },
  w(node, t, _, k) {
    const h = Math.floor(k / (t.x.columns / t.y.columns)), factor = ['factor', attributeOf(node, 'factor', 1)];
    return explanation(`dw[${k}] = factor Σ dy[i, ${h}] x[i, ${k}]`, range(t.x.rows).map(
        (i) => product(factor, [`dy[${i}, ${h}]`, t.dy?.at(i, h)], [`x[${i}, ${k}]`, t.x.at(i, k)])));
  },
};

// y = a / (b + epsilon), head by head.
const HEAD_DIVIDE = {
  output(node, t, i, j) {
    const h = Math.floor(j / (t.a.columns / t.b.columns)), divisor = t.b.at(i, h) + attributeOf(node, 'epsilon', 0);
    return explanation(`y[${i}, ${j}] = a[${i}, ${j}] / (b[${i}, ${h}] + epsilon)`,
                       [product([`a[${i}, ${j}]`, t.a.at(i, j)], ['1 / (b + epsilon)', 1 / divisor])]);
  },
  a(node, t, i, j) {
    const h = Math.floor(j / (t.a.columns / t.b.columns)), divisor = t.b.at(i, h) + attributeOf(node, 'epsilon', 0);
    return explanation(`da[${i}, ${j}] = dy[${i}, ${j}] / (b[${i}, ${h}] + epsilon)`,
                       [product([`dy[${i}, ${j}]`, t.dy?.at(i, j)], ['1 / (b + epsilon)', 1 / divisor])]);
  },
  b(node, t, i, h) {
    const width = t.a.columns / t.b.columns, divisor = t.b.at(i, h) + attributeOf(node, 'epsilon', 0);
    const term = (k) => product(['−1 / (b + epsilon)', -1 / divisor], [`dy[${i}, ${k}]`, t.dy?.at(i, k)],
                                [`y[${i}, ${k}]`, t.y.at(i, k)]);
    return explanation(`db[${i}, ${h}] = −Σ dy[${i}, k] y[${i}, k] / (b[${i}, ${h}] + epsilon)`,
                       range(width).map((f) => term(h * width + f)));
  },
};

// The mean of all rows, if there is one segment.
const SEGMENT_MEAN = {
  output(node, t, _, j) {
    if (t.y.rows !== 1) return null;
    return explanation(`y[0, ${j}] = Σ x[i, ${j}] / ${t.x.rows}`, range(t.x.rows).map(
        (i) => product([`x[${i}, ${j}]`, t.x.at(i, j)], [`1/${t.x.rows}`, 1 / t.x.rows])));
  },
  x(node, t, i, j) {
    if (t.y.rows !== 1) return null;
    return explanation(`dx[${i}, ${j}] = dy[0, ${j}] / ${t.x.rows}`,
                       [product([`dy[0, ${j}]`, t.dy?.at(0, j)], [`1/${t.x.rows}`, 1 / t.x.rows])]);
  },
};
