/** The versioning and deprecation policy of every interface. */
export const VERSIONING = [
  'Within v1 nothing is removed. Operations, tools, skills, optional fields, members of answers, values and ' +
    'problem codes may be added. A client must ignore what it does not know.',
  'A breaking change gets another major version: another path (/v2) over REST, a new name for a tool or a ' +
    'skill. The previous version works for at least 12 more months.',
  'An operation that will be removed is marked `deprecated` in OpenAPI and listed in CHANGELOG.md. From then on, ' +
    'for at least 12 months, its answers have Deprecation (RFC 9745), Sunset (RFC 8594) and a Link with ' +
    'rel="deprecation" to its replacement. A deprecated tool or skill says so in its description. Nothing is ' +
    'deprecated now.',
  'Deprecation and Sunset without that Link are about the key of the caller, never about the operation: ' +
    'the key was rotated, or expires soon. getConnection shows its status and expires_at.',
  'A version of MCP or A2A is supported for at least 12 months after its successor is released.',
] as const;
