-- SPDX-License-Identifier: BSL-1.0
-- A vote of the one whom the lock is handed to (docs/protocol.md, rule L5). KEYS[1] the lock. ARGV: nonce,
-- milliseconds, the nonce of who gave the lock up, or ours where nobody did. 1: granted, "HELD <milliseconds left> 0
-- <owner>": refused.
local owner = redis.call('mget', KEYS[1])[1]
if owner and (owner == ARGV[1] or owner == ARGV[3]) then
    redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
    return 1
end
if redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2]) then
    return 1
end
return redis.status_reply(string.format('HELD %d 0 ', redis.call('pttl', KEYS[1])) .. (owner or ''):sub(1, 8))
