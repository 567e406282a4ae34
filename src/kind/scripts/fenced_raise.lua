-- SPDX-License-Identifier: BSL-1.0
-- Sets the fence to the agreed token, only while the lock is ours and no other client came after us. KEYS: the lock, its fence, the node's marker. ARGV: milliseconds of the lock, milliseconds of the
-- fence, nonce, token, the marker as it was on connecting (empty: not looked at). Returns 1: done, 0: refused,
-- "STRANGER": another node than expected. An error: the fence is no number of ours.
-- rules S16 and F2
local seen = redis.call('mget', KEYS[1], KEYS[2], KEYS[3])
if ARGV[5] ~= '' and seen[3] ~= ARGV[5] then
    return redis.status_reply('STRANGER')
end
local fence = tonumber(seen[2] or redis.call('pttl', KEYS[2]) == -2 and 0)
if not (fence and fence >= 0 and fence < 8796093022208) then
    return redis.error_reply('WRONGTYPE the fence is no number that can be counted on from: ' .. KEYS[2])
end
local ours = seen[1] == ARGV[3]
if not seen[1] then -- we may be one of its readers
    local clock = redis.call('time')
    local ends = redis.pcall('zscore', KEYS[1], ARGV[3])
    ours = type(ends) == 'string' and tonumber(ends) > clock[1] * 1000 + math.floor(clock[2] / 1000)
end
if not ours or fence > tonumber(ARGV[4]) then
    return 0
end
redis.call('set', KEYS[2], ARGV[4], 'px', ARGV[2])
return 1
