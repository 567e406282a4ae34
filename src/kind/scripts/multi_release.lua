-- SPDX-License-Identifier: BSL-1.0
-- Gives several locks back, those of them that are ours, and serves the queue of each. KEYS: the
-- locks, and the queue of each, unless that is refused. ARGV: nonce; how many locks; "take" or "free", and microseconds, as
-- for give_back.lua.
-- Returns 1: done, 2: done, and one of them was handed on, 0: not all of them were ours, 3: the same, and one that was ours was
-- handed on. A lock whose queue may not be served is free.
-- rule M3
local count = tonumber(ARGV[2])
local owners = redis.call('mget', unpack(KEYS, 1, count))
local have_queues = #KEYS > count and redis.call('exists', unpack(KEYS, count + 1)) > 0
local function give_back(KEYS, ARGV)
    -- with give_back.lua
end
local ours, free, handed_on = 0, {}, false
for i = 1, count do
    if owners[i] == ARGV[1] then
        ours = ours + 1
        local done, said = false, nil
        if have_queues then
            done, said = pcall(give_back, {KEYS[i], KEYS[count + i]}, {'x', ARGV[1], '', ARGV[3], ARGV[4], '', ''})
        end
        handed_on = handed_on or said == 2
        if not done then
            free[#free + 1] = KEYS[i]
        end
    end
end
if free[1] then
    redis.call('del', unpack(free))
end
return ours < count and (handed_on and 3 or 0) or handed_on and 2 or 1
