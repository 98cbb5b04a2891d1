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

// The second element of every heat map; returns how many there are.
function chooseElements(view) {
  const maps = view.querySelectorAll('.heat');
  for (const map of maps) map.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}));
  return maps.length;
}

function startLessons() {
  const data = JSON.parse(document.getElementById('data').textContent);
  const counts = {lessons: 0, walked: 0, elements: 0, agreements: 0, disagreements: 0};
  for (const view of document.querySelectorAll('.lesson')) {
    const lesson = data[view.dataset.lesson];
    const figure = new LESSONS[lesson.kind](view, lesson);
    ++counts.lessons;
    if (location.hash !== '#walk' || !figure.walk) continue;
    figure.walk.step.positions.forEach((_, at) => {
      figure.walk.go(at);
      counts.elements += chooseElements(view);
      ++counts.walked;
      counts.agreements += view.querySelectorAll('.agrees').length;
      counts.disagreements += view.querySelectorAll('.disagrees').length;
    });
    figure.walk.go(0);
  }
  if (location.hash === '#walk') Object.assign(document.documentElement.dataset, counts);
}

startLessons();
