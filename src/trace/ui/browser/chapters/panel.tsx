import { useEffect, useRef } from "preact/hooks";
import { say } from "../language.js";
import type { PageState } from "../state.js";
import { BlockView } from "./blocks.js";
import type { Block } from "./chapter.js";
import { CHAPTERS } from "./registry.js";

/** The chapter's idea as a picture, at the selected moment. It keeps its size, and scrolls to where things stand. */
export function ChapterPanel({ state }: { readonly state: PageState }) {
  const { scene, now, ever, after } = state.picture.value;
  const shown = state.shownChapter.value;
  const body = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const [field, current] = [body.current, body.current?.querySelector<HTMLElement>("[data-current]")];
    if (!field || !current) return;
    // Not scrollIntoView: it would move the page too.
    const hiddenPx = current.getBoundingClientRect().bottom + 8 - field.getBoundingClientRect().bottom;
    field.scrollTop = Math.max(0, field.scrollTop + hiddenPx);
  });
  if (shown === undefined) return null;
  const nowMs = after?.event.atMs ?? Math.max(state.story.endMs, state.clockMs.value ?? 0);
  const relist = after === undefined ? state.relist.value : undefined;
  const at = { nowMs, cluster: scene.cluster, ever, event: state.shownFact.value, relist };
  const key = state.windowKeys.value.find(({ enabled }) => enabled);
  const text =
    key === undefined
      ? say("Nothing of this chapter has happened yet.")
      : say("Nothing of this chapter has happened yet. Press {1}: {2}.", key.key, key.label);
  const nothing: Block = { kind: "line", text, tone: "ahead" };
  const whole = now.models.get(shown);
  const blocks = whole === undefined ? [nothing] : shown.draw(state.chapterScene.value.models.get(shown), whole, at);
  return (
    <section class="chapter" aria-label={say(shown.title)}>
      <fieldset class="group" aria-label={say("Chapters")}>
        {CHAPTERS.filter((one) => one === shown || now.models.has(one)).map((one) => (
          <button
            key={one.id}
            type="button"
            aria-pressed={one === shown}
            onClick={() => {
              state.chosenChapter.value = one;
            }}
          >
            {say(one.title)}
          </button>
        ))}
      </fieldset>
      <div class="chapter-body" ref={body}>
        {blocks.map((block, i) => (
          <BlockView key={i} block={block} />
        ))}
      </div>
    </section>
  );
}
