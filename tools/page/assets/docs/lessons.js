// Starts the lessons of a page.
'use strict';

const LESSONS = {scalars: ScalarLesson, tape: TapeLesson, gradcheck: GradcheckLesson};

// The buttons of a walk, with a place for the number of the step.
function walkControls(walk) {
  const labels = {first: '|<', previous: '< previous', next: 'next >', turn: ''};
  const names = {first: 'first step'};
  const buttons = {}, actions = walkActions(walk);
  for (const [name, label] of Object.entries(labels)) {
    buttons[name] = element('button', {type: 'button', ...(names[name] ? {'aria-label': names[name]} : {})}, label);
    buttons[name].addEventListener('click', actions[name]);
  }
  const number = element('output', {});
  return {buttons, number, view: element('div', {class: 'lesson-controls'}, ...Object.values(buttons), number)};
}

// The figures of the page, each with a walk if it has one.
function startLessons() {
  const data = JSON.parse(document.getElementById('data').textContent);
  return [...document.querySelectorAll('.lesson')].map((view) => {
    const lesson = data[view.dataset.lesson];
    return {view, walk: new LESSONS[lesson.kind](view, lesson).walk};
  });
}

const lessons = startLessons();
