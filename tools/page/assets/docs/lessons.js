// Starts the lessons of a page. With #walk in the address each of them walks by itself, for tests, and counts go into
// document.documentElement.dataset.
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

function startLessons() {
  const data = JSON.parse(document.getElementById('data').textContent);
  const counts = new WalkCounts();
  const views = document.querySelectorAll('.lesson');
  for (const view of views) {
    const lesson = data[view.dataset.lesson];
    const {walk} = new LESSONS[lesson.kind](view, lesson);
    if (location.hash === '#walk' && walk) walkAll(walk, view, counts);
  }
  if (location.hash === '#walk') counts.publish({lessons: views.length});
}

startLessons();
