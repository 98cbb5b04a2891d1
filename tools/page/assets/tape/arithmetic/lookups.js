// Rows of tables, and means and products over rows and heads.
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
