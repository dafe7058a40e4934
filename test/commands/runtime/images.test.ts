import assert from "node:assert/strict";
import { test } from "vitest";
import { REGISTRY_IMAGES } from "../../../src/cluster/runtime/images/registry.js";
import { listImages, shortName } from "../../../src/commands/runtime/images.js";

test("names of images are not broken, however narrow the terminal is", () => {
  for (const width of [80, 46, 30]) {
    const { text } = listImages(width);
    for (const name of REGISTRY_IMAGES.flatMap(({ repositories }) => repositories)) {
      assert.ok(text.includes(shortName(name)), `${name} in ${width} columns`);
    }
  }
});
