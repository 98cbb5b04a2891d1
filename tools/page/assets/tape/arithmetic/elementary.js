// The elementary ops (autograd/elementary.h).
'use strict';

// An element of an operand, with its name: the operand may be a row, a column or one element, which is repeated.
function repeated(t, name, i, j) {
  const row = t[name].rows === 1 ? 0 : i, column = t[name].columns === 1 ? 0 : j;
  return [`${name}[${row}, ${column}]`, t[name].at(row, column)];
}

// The elements of y that an element of an operand is in.
function placesOf(t, name, i, j) {
  const rows = t[name].rows === t.y.rows ? [i] : range(t.y.rows);
  const columns = t[name].columns === t.y.columns ? [j] : range(t.y.columns);
  return rows.flatMap((row) => columns.map((column) => [row, column]));
}

// The gradient of an operand of y = f(a, b): the sum of dy times the derivative over its places.
function operandGradient(name, formula, slope) {
  return (node, t, i, j) => explanation(`d${name}[${i}, ${j}] = ${formula}`, placesOf(t, name, i, j).map(
      ([row, column]) => product([`dy[${row}, ${column}]`, t.dy?.at(row, column)],
                                 ...slope(repeated(t, 'a', row, column), repeated(t, 'b', row, column)))));
}

function negative([name, value]) {
  return [`-${name}`, -value];
}

function inverse([name, value], power = 1) {
  return [power === 1 ? `1 / ${name}` : `1 / ${name}^${power}`, value ** -power];
}

function arithmetic(sign, terms, slopeA, slopeB) {
  return {
    output: (node, t, i, j) => explanation(`y[${i}, ${j}] = a ${sign} b`,
                                           terms(repeated(t, 'a', i, j), repeated(t, 'b', i, j))),
    a: operandGradient('a', 'Σ dy ∂y/∂a', slopeA),
    b: operandGradient('b', 'Σ dy ∂y/∂b', slopeB),
  };
}

const ADD = arithmetic('+', (a, b) => [product(a), product(b)], () => [], () => []);
const SUBTRACT = arithmetic('-', (a, b) => [product(a), product(negative(b))], () => [], () => [['-1', -1]]);
const MULTIPLY = arithmetic('*', (a, b) => [product(a, b)], (a, b) => [b], (a) => [a]);
const DIVIDE = arithmetic('/', (a, b) => [product(a, inverse(b))], (a, b) => [inverse(b)],
                          (a, b) => [negative(a), inverse(b, 2)]);

// A function of each element, with its derivative.
function functionOf(name, value, slope) {
  return {
    output: (node, t, i, j) => explanation(`y[${i}, ${j}] = ${name}(x[${i}, ${j}])`, [
      {text: `${name}(${valueText(t.x.at(i, j), 4)})`, value: value(t.x.at(i, j), node)}]),
    x: (node, t, i, j) => explanation(`dx[${i}, ${j}] = dy ${name}'(x)`, [product(
        [`dy[${i}, ${j}]`, t.dy?.at(i, j)], [`${name}'(x[${i}, ${j}])`, slope(t.x.at(i, j), node)])]),
  };
}

const FUNCTIONS = {
  exp: functionOf('exp', Math.exp, Math.exp),
  log: functionOf('log', Math.log, (x) => 1 / x),
  sqrt: functionOf('sqrt', Math.sqrt, (x) => 0.5 / Math.sqrt(x)),
  sin: functionOf('sin', Math.sin, Math.cos),
  cos: functionOf('cos', Math.cos, (x) => -Math.sin(x)),
  erf: functionOf('erf', (x) => 2 * normalCdf(x * Math.SQRT2) - 1, (x) => 2 / Math.sqrt(Math.PI) * Math.exp(-x * x)),
  sigmoid: functionOf('sigmoid', sigmoid, (x) => sigmoid(x) * (1 - sigmoid(x))),
  pow: functionOf('pow', (x, node) => x ** attributeOf(node, 'exponent', 1), (x, node) => {
    const exponent = attributeOf(node, 'exponent', 1);
    return exponent * x ** (exponent - 1);
  }),
};

const SCALE = {
  output(node, t, i, j) {
    const offset = attributeOf(node, 'offset', 0);
    const scaled = product(['factor', attributeOf(node, 'factor', 1)], [`x[${i}, ${j}]`, t.x.at(i, j)]);
    return explanation(`y[${i}, ${j}] = factor x[${i}, ${j}]${offset === 0 ? '' : ' + offset'}`,
                       offset === 0 ? [scaled] : [scaled, product(['offset', offset])]);
  },
  x: (node, t, i, j) => explanation(`dx[${i}, ${j}] = factor dy[${i}, ${j}]`, [product(
      ['factor', attributeOf(node, 'factor', 1)], [`dy[${i}, ${j}]`, t.dy?.at(i, j)])]),
};

// Sums and means over the rows, over the columns, or over both.
function sumRule(isMean) {
  const shareOf = (t) => (isMean ? t.y.size / t.x.size : 1);
  const factorOf = (t) => (isMean ? [['1 / n', shareOf(t)]] : []);
  return {
    output: (node, t, i, j) => explanation(
        `y[${i}, ${j}] = ${isMean ? 'mean' : 'sum'} of x`,
        (t.y.rows === t.x.rows ? [i] : range(t.x.rows)).flatMap(
            (row) => (t.y.columns === t.x.columns ? [j] : range(t.x.columns)).map(
                (column) => product([`x[${row}, ${column}]`, t.x.at(row, column)], ...factorOf(t))))),
    x: (node, t, i, j) => explanation(`dx[${i}, ${j}] = dy`, [
      product(['dy', t.dy?.at(t.y.rows === 1 ? 0 : i, t.y.columns === 1 ? 0 : j)], ...factorOf(t))]),
  };
}

// y = op(a) op(b): op transposes the operand if its flag is set.
function elementOf(node, t, name, i, j) {
  const [row, column] = attributeOf(node, `transpose_${name}`, 0) ? [j, i] : [i, j];
  return [`${name}[${row}, ${column}]`, t[name].at(row, column)];
}

const MATMUL = {
  output(node, t, i, j) {
    const inner = attributeOf(node, 'transpose_a', 0) ? t.a.rows : t.a.columns;
    return explanation(`y[${i}, ${j}] = Σ op(a)[${i}, k] op(b)[k, ${j}]`, range(inner).map(
        (k) => product(elementOf(node, t, 'a', i, k), elementOf(node, t, 'b', k, j))));
  },
  a(node, t, row, column) {
    const [i, k] = attributeOf(node, 'transpose_a', 0) ? [column, row] : [row, column];
    return explanation(`da[${row}, ${column}] = Σ dy[${i}, j] op(b)[${k}, j]`, range(t.y.columns).map(
        (j) => product([`dy[${i}, ${j}]`, t.dy?.at(i, j)], elementOf(node, t, 'b', k, j))));
  },
  b(node, t, row, column) {
    const [k, j] = attributeOf(node, 'transpose_b', 0) ? [column, row] : [row, column];
    return explanation(`db[${row}, ${column}] = Σ op(a)[i, ${k}] dy[i, ${j}]`, range(t.y.rows).map(
        (i) => product(elementOf(node, t, 'a', i, k), [`dy[${i}, ${j}]`, t.dy?.at(i, j)])));
  },
};

const TRANSPOSE = {
  output: (node, t, i, j) => explanation(`y[${i}, ${j}] = x[${j}, ${i}]`, [product([`x[${j}, ${i}]`, t.x.at(j, i)])]),
  x: (node, t, i, j) => explanation(`dx[${i}, ${j}] = dy[${j}, ${i}]`, [product([`dy[${j}, ${i}]`, t.dy?.at(j, i)])]),
};

// The elements of y are those of x in the same order. `values`, of the shape of `from`, may be unknown.
function sameElement(name, to, i, j, fromName, from, values) {
  const index = i * to.columns + j, row = Math.floor(index / from.columns), column = index % from.columns;
  const element = `${fromName}[${row}, ${column}]`;
  return explanation(`${name}[${i}, ${j}] = ${element}`, [product([element, values?.at(row, column)])]);
}

const RESHAPE = {
  output: (node, t, i, j) => sameElement('y', t.y, i, j, 'x', t.x, t.x),
  x: (node, t, i, j) => sameElement('dx', t.x, i, j, 'dy', t.y, t.dy),
};

const SOFTMAX = {
  output(node, t, i, j) {
    const largest = Math.max(...range(t.x.columns).map((k) => t.x.at(i, k)));
    const terms = range(t.x.columns).map(
        (k) => product([`exp(x[${i}, ${k}] − max)`, Math.exp(t.x.at(i, k) - largest)]));
    return explanation(`y[${i}, ${j}] = exp(x[${i}, ${j}] − max) / Σ exp(x[${i}, k] − max)`, terms,
                       {value: Math.exp(t.x.at(i, j) - largest) / sumOf(terms)});
  },
  x(node, t, i, j) {
    const own = product([`y[${i}, ${j}]`, t.y.at(i, j)], [`dy[${i}, ${j}]`, t.dy?.at(i, j)]);
    return explanation(`dx[${i}, ${j}] = y[${i}, ${j}] (dy[${i}, ${j}] − Σ y[${i}, k] dy[${i}, k])`, [
      own, ...range(t.x.columns).map((k) => product(
          [`−y[${i}, ${j}]`, -t.y.at(i, j)], [`y[${i}, ${k}]`, t.y.at(i, k)], [`dy[${i}, ${k}]`, t.dy?.at(i, k)])),
    ]);
  },
};

const ELEMENTARY = {
  add: ADD, subtract: SUBTRACT, multiply: MULTIPLY, divide: DIVIDE, scale: SCALE, sum: sumRule(false),
  mean: sumRule(true), matmul: MATMUL, transpose: TRANSPOSE, reshape: RESHAPE,
  softmax: SOFTMAX, ...FUNCTIONS,
};
