-- Gives slots of a semaphore back, only while they are ours, and leaves its line (docs/protocol.md, rules P4, P5, P7 and L6). KEYS:
-- the lock, the ends of its slots, its line. ARGV: nonce, slots (nothing: all that are ours here), place (empty: we do not
-- stand in line), "whole" where nothing else is held with that nonce. 0: not ours, 1: done, 2: handed on.
-- with slots.lua
-- with line.lua
-- with slots_line.lua
if ARGV[3] ~= '' then
    redis.call('zrem', KEYS[3], ARGV[1] .. ARGV[3])
end
local wrong, open = see_slots()
if wrong then
    return wrong
end
if not open then
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
    local before = front(KEYS[3])
    serve(KEYS[3], ARGV[4] == 'whole' and ARGV[1] or nil, nil, tonumber(ours[1] or 0))
    handed_on = before and front(KEYS[3]) ~= before
end)
return ours[1] and (handed_on and 2 or 1) or 0
