import { useEffect, useRef } from "preact/hooks";
import { say } from "../language.js";
import type { PageState } from "../state.js";
import { BlockView } from "./blocks.js";
import { CHAPTERS } from "./registry.js";

/** The chapter's idea as a picture, at the selected moment. It keeps its size, and scrolls to where things stand. */
export function ChapterPanel({ state }: { readonly state: PageState }) {
  const { scene, now, ever, after } = state.picture.value;
  const shown = state.shownChapter.value;
  const body = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const [field, current] = [body.current, body.current?.querySelector<HTMLElement>("[data-current]")];
    // Not scrollIntoView: it would move the page too.
    if (field && current)
      field.scrollTop = Math.max(0, current.offsetTop + current.offsetHeight + 8 - field.clientHeight);
  });
  if (shown === undefined) return null;
  const at = { nowMs: after?.event.atMs ?? state.story.endMs, cluster: scene.cluster, ever, event: after?.event };
  const blocks = shown.draw(scene.models.get(shown), now.models.get(shown), at);
  return (
    <section class="chapter" aria-label={say(shown.title)}>
      <fieldset class="group" aria-label={say("Chapters")}>
        {CHAPTERS.filter((one) => now.models.has(one)).map((one) => (
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
