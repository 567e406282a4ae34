-- SPDX-License-Identifier: BSL-1.0
-- Gives slots of a semaphore back, only while they are ours, and leaves its line (docs/protocol.md, rules P4, P5, P7 and L6). KEYS:
-- the lock, the ends of its slots, its line. ARGV: nonce, slots (nothing: all that are ours here), place (empty: we do not
-- stand in line), "whole" where nothing else is held with that nonce. 0: not ours, 1: done, 2: handed on.
-- with slots.lua
-- with line.lua
-- with slots_line.lua
local was_first = false
if ARGV[3] ~= '' then
    was_first = front(KEYS[3]) == ARGV[1] .. ARGV[3]
    redis.call('zrem', KEYS[3], ARGV[1] .. ARGV[3])
end
local wrong, open = see_slots()
if wrong then
    return wrong
end
if not open then
    if was_first then
        tell_first(KEYS[3], (front(KEYS[3])), string.format('%.0f', math.max(redis.call('pttl', KEYS[1]), 0)))
    end
    return 0
end
local ours = ARGV[2] == '' and slots_of(ARGV[1]) or {}
for _, slot in ipairs(words(ARGV[2])) do
    if redis.call('hget', KEYS[1], slot) == ARGV[1] then
        ours[#ours + 1] = slot
    end
end
if ours[1] then
    redis.call('hdel', KEYS[1], unpack(ours))
    redis.call('zrem', KEYS[2], unpack(ours))
    end_with_last()
end
-- Without the rights to that they are free.
local handed_on = false
pcall(function()
    local giver = ARGV[4] == 'whole' and ARGV[1] or nil
    local _, given = serve(KEYS[3], giver, nil, tonumber(ours[1] or 0), was_first)
    handed_on = given > 0
end)
return ours[1] and (handed_on and 2 or 1) or 0
