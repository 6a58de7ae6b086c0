/** What attempts to send something have in common. */

/** How an attempt ends. */
export type OutcomeCommand =
  | { type: 'Defer'; attempt: number; reason: string; retryAt: number; uncertain?: boolean }
  | { type: 'Confirm'; attempt: number; evidence: string }
  | { type: 'Fail'; attempt: number; reason: string }
  | { type: 'LoseTrack'; attempt: number; reason: string };

/** What is known about the attempts to send one thing. At most one attempt is under way. */
export type AttemptState = {
  attempts: number;
  attempted_at?: number | undefined;
  /** Until then its last attempt can still be under way; set while one is. */
  until?: number | undefined;
  /** When its next attempt is due; set while one is. */
  retry_at?: number | undefined;
  /** Set if an attempt may have had its effect without a confirmation. */
  uncertain?: boolean | undefined;
};
