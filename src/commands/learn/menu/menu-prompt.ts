import { createPrompt, isBackspaceKey, isEnterKey, useEffect, useKeypress, useRef, useState } from "@inquirer/core";
import { defined } from "../../../util/defined.js";
import { chosenLine, entryTyped, type FrameOptions, type FrameSize, type Menu, menuFrame } from "./menu-frame.js";

/** A terminal to draw on; it emits `resize`. */
export interface MenuScreen extends NodeJS.WritableStream {
  readonly columns?: number;
  readonly rows?: number;
}

export interface MenuConfig {
  readonly menu: Menu;
  /** the entry that is selected first */
  readonly active: number;
  readonly screen: MenuScreen;
  readonly options: FrameOptions;
}

const HIDE_CURSOR = "\u001b[?25l";
const HOME = "\u001b[H";
const ERASE_LINE_AND_DOWN = "\u001b[2K\u001b[B";

/**
 * Lets the learner choose from a list that is longer than the screen. `q` chooses the last entry, which quits.
 *
 * Differs: inquirer's own list redraws only after a key and keeps its first size, so a resized terminal breaks its lines.
 */
export const menuPrompt = createPrompt<string, MenuConfig>(({ menu, active: start, screen, options }, done) => {
  const entries = menu.groups.flatMap((group) => group.entries);
  const [active, setActive] = useState(start);
  const [isDone, setDone] = useState(false);
  const [size, setSize] = useState(sizeOf(screen));
  const [unknown, setUnknown] = useState<string | undefined>(undefined);
  const typed = useRef("");
  useEffect(() => {
    const onResize = () => {
      const now = sizeOf(screen);
      // The old frame has moved, so all lines are erased. Erasing the screen at once would add it to the history of some terminals.
      screen.write(HOME + ERASE_LINE_AND_DOWN.repeat(now.rows) + HOME);
      setSize(now);
    };
    screen.on("resize", onResize);
    return () => screen.off("resize", onResize);
  }, []);
  useKeypress((key, line) => {
    const page = Math.max(1, Math.floor(size.rows / 2));
    setUnknown(undefined);
    const to = MOVES[key.name]?.(active, entries.length, page);
    if (isEnterKey(key) || key.name === "q") {
      const chosen = key.name === "q" ? entries.length - 1 : active;
      setActive(chosen);
      setDone(true);
      done(entries[chosen]?.value ?? "");
    } else if (to !== undefined || isBackspaceKey(key)) {
      typed.current = "";
      line.clearLine(0);
      if (to !== undefined) setActive(Math.max(0, Math.min(to, entries.length - 1)));
    } else {
      const [last = ""] = line.line.slice(-1);
      const found = [typed.current + last, last].find((text) => entryTyped(menu, text) !== undefined);
      line.clearLine(0);
      if (found === undefined) return setUnknown(last.trim() || undefined);
      typed.current = found;
      setActive(entryTyped(menu, found) ?? active);
    }
  });
  if (isDone) return chosenLine(menu, active, size, options);
  return menuFrame(menu, active, size, { ...options, ...defined({ unknown }) }).join("\n") + HIDE_CURSOR;
});

const MOVES: Readonly<Record<string, (active: number, count: number, page: number) => number>> = {
  up: (active) => active - 1,
  down: (active) => active + 1,
  pageup: (active, _count, page) => active - page,
  pagedown: (active, _count, page) => active + page,
  home: () => 0,
  end: (_active, count) => count - 1,
};

/** A terminal without a size reports 0. */
function sizeOf({ columns, rows }: MenuScreen): FrameSize {
  return { columns: columns || 80, rows: rows || 24 };
}
