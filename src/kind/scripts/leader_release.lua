-- SPDX-License-Identifier: BSL-1.0
-- Deletes the lock of an election only while it is ours, and our leader announcement (docs/protocol.md, rule EL2): the
-- next owner may have the lock already. KEYS: the lock, the announcement. ARGV: nonce, the announcement's beginning if
-- it is ours. Returns 1: deleted, 0: not ours.
-- A key of another type is none of ours.
-- rule EL2
local said = redis.pcall('get', KEYS[2])
if type(said) == 'string' and said:sub(1, #ARGV[2]) == ARGV[2] then
    redis.call('del', KEYS[2])
end
if redis.call('get', KEYS[1]) ~= ARGV[1] then
    return 0
end
return redis.call('del', KEYS[1])
