-- SPDX-License-Identifier: BSL-1.0
-- Sets the fences of several locks to the agreed token, only while all locks are ours and no other client came after us
-- (docs/protocol.md, rules F2 and M4). KEYS and ARGV as for the vote with fences. Returns 1: done, 0: refused,
-- "STRANGER": another node than expected. An error: a fence is no number of ours.
-- with see_fences.lua
-- rule M4
local count = tonumber(ARGV[1])
local refused, _, highest = see_fences(count + 1, ARGV[7])
if refused then
    return refused
end
for _, owner in ipairs(redis.call('mget', unpack(KEYS, 1, count))) do
    if owner ~= ARGV[2] then
        return 0
    end
end
if highest > tonumber(ARGV[6]) then
    return 0
end
for i = 1, count do
    redis.call('set', KEYS[count + i], ARGV[6], 'px', ARGV[5])
end
return 1
