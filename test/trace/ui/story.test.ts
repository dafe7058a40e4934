import assert from "node:assert/strict";
import { test } from "vitest";
import { versionsAround } from "../../../src/trace/ui/browser/details/versions.js";
import { type Filter, filterSteps, NO_FILTER } from "../../../src/trace/ui/browser/filter.js";
import { Story } from "../../../src/trace/ui/browser/story.js";
import { titleOf } from "../../../src/trace/ui/browser/words.js";
import { factLine, parseFacts } from "../../../src/trace/ui/facts.js";
import { podFacts } from "./page-facts.js";

function storyOf(events = podFacts()): Story {
  const story = new Story();
  story.add(parseFacts(events.map(factLine).join("")));
  return story;
}

function stepOf(story: Story, title: string) {
  return story.steps.find(({ event }) => titleOf(event).includes(title)) ?? assert.fail(`no step ${title}`);
}

test("story: steps are in the order in which they began, however the facts come, and each once", () => {
  const events = podFacts();
  const titles = (story: Story) => story.steps.map(({ event }) => event.id);
  assert.deepEqual(titles(storyOf([...events.toReversed(), ...events])), titles(storyOf()));
  assert.equal(storyOf().steps.length, events.length);
});

test("story: the chain leads from the command to the start of the container, through the version of the pod", () => {
  const story = storyOf();
  const causes = story.causesOf(stepOf(story, "StartContainer")).map(({ event }) => titleOf(event));
  assert.deepEqual(causes, [
    "Create the pod",
    "POST /api/v1/namespaces/default/pods",
    "watch event ADDED pods default/web",
    "start container app",
  ]);
  const all = story.effectsOf(stepOf(story, "Create the pod"), 100);
  assert.equal(all.length, 8);
  assert.equal(story.effectsOf(stepOf(story, "Create the pod"), 3).length, 3);
});

test("story: lanes are in the order of the way, one kubelet and runtime per node", () => {
  const story = storyOf();
  const lanes = story.lanes.sorted.map(({ key }) => key);
  assert.deepEqual(lanes, ["user", "apiserver", "scheduler", "kubelet", "kubelet n1", "runtime n1"]);
  const arrow = (title: string) => stepOf(story, title).target?.key;
  assert.deepEqual(["POST", "StartContainer", "watch", "bind"].map(arrow), [
    "apiserver",
    "runtime n1",
    "apiserver",
    undefined,
  ]);
});

test("story: the object before and after a write, if both are known", () => {
  const story = storyOf();
  const { before, after } = versionsAround(story, stepOf(story, "PATCH")) ?? assert.fail("two versions");
  assert.deepEqual([before.metadata?.resourceVersion, after.metadata?.resourceVersion], ["1", "2"]);
  assert.equal(versionsAround(story, stepOf(story, "POST")), undefined);
});

const filters: readonly (readonly [title: string, filter: Partial<Filter>, count: number])[] = [
  ["nothing", {}, 10],
  ["a pod", { pod: "default/web" }, 4],
  ["words in any order and case", { search: "CONTAINER start" }, 2],
  ["an actor's name", { search: "scheduler" }, 1],
  ["words that no row shows", { search: "never run" }, 0],
  ["an upstream function, which no row shows", { search: "syncpod" }, 0],
  ["an actor", { hiddenLanes: new Set(["user"]) }, 8],
  ["kinds", { hiddenKinds: new Set(["request", "rpc"]) }, 7],
];
for (const [title, filter, count] of filters) {
  test(`filter: by ${title}`, () => {
    const shown = filterSteps(storyOf(), { ...NO_FILTER, ...filter }, () => false);
    assert.equal(shown.length, count);
  });
}

test("story: the last steps are a story of their own, with the same steps", () => {
  const story = storyOf();
  const last = story.last(4);
  assert.deepEqual(last.steps, story.steps.slice(-4));
  assert.equal(last.steps[0], story.steps.at(-4));
  const [first] = last.steps;
  assert.ok(first !== undefined);
  assert.equal(last.causeOf(first)?.event.kind, undefined);
  assert.equal(last.hasUnobservedCause(first), true);
  assert.deepEqual(story.last(100).steps, story.steps);
});
