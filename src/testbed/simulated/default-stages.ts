/** The life of a pod on a simulated node, unless a file has stages for it. docs/commands.md shows the same text. */
export const DEFAULT_STAGES = `\
- name: pod-ready
  match:
    phase: Pending
  delay:
    duration: 500ms
    jitter: 500ms
  next:
    phase: Running
- name: pod-complete
  match:
    phase: Running
    restartPolicy: [Never, OnFailure]
  delay:
    duration: 5s
    jitter: 5s
  next:
    phase: Succeeded
- name: pod-delete
  match:
    deletion: true
  delay:
    duration: 500ms
    jitter: 500ms
  next:
    delete: true
`;
