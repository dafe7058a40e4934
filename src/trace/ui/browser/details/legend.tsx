import { say } from "../language.js";
import { KINDS, Sign } from "../marks.js";
import { SIGNS } from "../picture/status.js";

/** The meaning of signs. */
export function Legend() {
  const tones = [
    ["good", "runs, or ready"],
    ["waiting", "is not there yet"],
    ["bad", "has a problem"],
    ["done", "has ended as it should"],
    ["gone", "deleted"],
  ] as const;
  return (
    <div class="legend">
      <h3>{say("Legend")}</h3>
      <ul class="cluster-signs">
        {tones.map(([tone, meaning]) => (
          <li key={tone} class={tone}>
            <span class="sign-of">{SIGNS[tone]}</span> {say(meaning)}
          </li>
        ))}
      </ul>
      <ul>
        {KINDS.map(([kind, meaning]) => (
          <li key={kind}>
            <Sign kind={kind} /> {say(meaning)}
          </li>
        ))}
      </ul>
    </div>
  );
}
