-- SPDX-License-Identifier: BSL-1.0
-- Renews a lock that another client was granted, only while it is still there and the fence is its token.
-- Nothing is set: the lock may have been released, and the token is only somebody's word.
-- KEYS and ARGV as for the extension. 1: renewed, 0: not ours, "STRANGER": another node than expected.
-- rule H9
local seen = redis.call('mget', KEYS[1], KEYS[2], KEYS[3])
if ARGV[5] ~= '' and seen[3] ~= ARGV[5] then
    return redis.status_reply('STRANGER')
end
if seen[1] ~= ARGV[3] or (not seen[2] and redis.call('pttl', KEYS[2]) == -2) then
    return 0
end
local fence = tonumber(seen[2])
if not (fence and fence >= 0 and fence < 8796093022208) then
    return redis.error_reply('WRONGTYPE the fence is no number that can be counted on from: ' .. KEYS[2])
end
if fence ~= tonumber(ARGV[4]) then
    return 0
end
redis.call('pexpire', KEYS[1], ARGV[1])
redis.call('pexpire', KEYS[2], ARGV[2])
redis.call('get', KEYS[1]) -- as in extend.lua
return 1
