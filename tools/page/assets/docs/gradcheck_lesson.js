// Analytic gradients beside finite differences, element by element.
'use strict';

class GradcheckLesson {
  constructor(view, {checks}) {
    view.replaceChildren(...checks.map((check) => this.view(check)));
  }

  view({title, inputs}) {
    const failed = inputs.filter(({passed}) => !passed).map(({input}) => `d${input}`);
    const verdict = failed.length === 0 ? 'all gradients pass' : `wrong: ${failed.join(', ')}`;
    return element('details', {open: ''}, element('summary', {}, `${title}: ${verdict}`),
                   element('div', {class: 'scroll', tabindex: 0}, this.table(inputs)));
  }

  table(inputs) {
    const head = ['gradient', 'element', 'analytic', 'finite difference', 'error'];
    return element('table', {class: 'agreement'},
                   element('thead', {}, element('tr', {}, ...head.map((name) => element('th', {scope: 'col'}, name)))),
                   element('tbody', {}, ...inputs.flatMap((input) => this.rows(input))));
  }

  rows({input, passed, entries}) {
    return entries.map(({element: index, analytic, numeric, error}) => {
      const cells = [`d${input}`, index, valueText(analytic, 9), valueText(numeric, 9), valueText(error, 2)];
      return element('tr', {class: passed ? '' : 'disagrees-row'}, ...cells.map((cell) => element('td', {}, cell)));
    });
  }
}
