// Tables, and the comparison of two runs in them.
'use strict';

// A table that scrolls by itself if it is wider than the page.
function table(label, headings, rows) {
  const head = element('tr', {}, ...headings.map((heading) => element('th', {scope: 'col'}, heading)));
  const body = element('tbody', {}, ...rows);
  return element('div', {class: 'scroll', role: 'region', tabindex: '0', 'aria-label': label},
    element('table', {}, element('thead', {}, head), body));
}

function row(name, cells) {
  return element('tr', {}, element('th', {scope: 'row'}, name), ...cells.map((cell) => element('td', {}, cell)));
}

// A row that is marked if the values differ.
function comparedRow(name, values) {
  const differs = values.some((value) => value !== values[0]);
  const made = row(name, values);
  if (!differs) return made;
  made.classList.add('differs');
  made.lastChild.append(element('span', {class: 'difference'}, 'differs'));
  return made;
}

// A row per name, a column per run. records: an object of texts for each run.
function recordTable(label, runs, records, makeRow) {
  const names = [...new Set(records.flatMap((record) => Object.keys(record)))];
  const rows = names.map((name) => makeRow(name, records.map((record) => record[name] ?? 'none')));
  return table(label, ['Name', ...runs.map((run) => run.name)], rows);
}

// The same, folded, with marks at what differs and a choice to show only that.
function foldedComparison(label, runs, records) {
  const count = Math.max(...records.map((record) => Object.keys(record).length));
  const made = recordTable(label, runs, records, comparedRow);
  const details = element('details', {}, element('summary', {}, `${label} (${count})`));
  if (runs.length > 1) {
    details.open = true;
    made.classList.add('only-differences');
    details.append(labeledInput({type: 'checkbox', checked: ''}, 'Only what differs',
      (input) => made.classList.toggle('only-differences', input.checked)));
    if (made.querySelector('.differs') === null) details.append(element('p', {class: 'note'}, 'Nothing differs.'));
  }
  details.append(made);
  return details;
}
