-- SPDX-License-Identifier: BSL-1.0
-- A vote for slots of a semaphore: so many as are wanted, or none (docs/protocol.md, rules P3, P4 and P7). KEYS: the lock,
-- the ends of its slots, its line. ARGV: nonce, milliseconds, how many slots there are, which are wanted (nothing: any, behind
-- all that stand in line), how many, where to look first; the nonce of who gave them up, ours where they were free, or nothing.
-- "GIVEN <fence> <how many are taken> <slots>": while somebody stands in line, all count as taken. "HELD <milliseconds left> 0
-- <who>": refused. An error: what stands in place of the slots is none.
-- With a fence (rules P4 and F1) also KEYS: the fences of the slots, the node's marker. ARGV: milliseconds of the fences,
-- proposal, the marker as it was on connecting (empty: not looked at). "STRANGER": another node than expected. An error: a
-- fence is no number of ours.
-- with slots.lua
-- with slot_fences.lua
-- with line.lua
-- with slots_line.lua
local refused = see_fences(ARGV[10])
if refused then
    return refused
end
local wrong, open = see_slots(true)
if wrong then
    return wrong
end
local limit, count = tonumber(ARGV[3]), tonumber(ARGV[5])
local function held(left, who)
    return redis.status_reply(string.format('HELD %.0f 0 %s', left, who:sub(1, 8)))
end
if not open then
    return held(redis.call('pttl', KEYS[1]), redis.call('mget', KEYS[1])[1] or '')
end
local function is_waited_for()
    local places = redis.pcall('zcard', KEYS[3])
    return type(places) == 'number' and places > 0
end
local slots = words(ARGV[4])
for _, slot in ipairs(slots) do
    local owner = redis.call('hget', KEYS[1], slot)
    if owner and owner ~= ARGV[1] and (ARGV[7] == '' or owner ~= ARGV[7]) then
        return held((redis.call('zscore', KEYS[2], slot) or now) - now, owner)
    end
end
local waited = is_waited_for()
if not slots[1] then
    -- Some of them may have gone. Without the right to call them they all count.
    if waited and (not pcall(serve, KEYS[3], nil, nil, tonumber(ARGV[6]), false) or is_waited_for()) then
        return held(until_ended(1), 'FULL')
    end
    slots = choose(limit, count, tonumber(ARGV[6]))
    if not slots then
        return held(until_ended(count - (limit - redis.call('hlen', KEYS[1]))), 'FULL')
    end
end
local fence, unusable = count_on(slots, ARGV[9], ARGV[2])
if unusable then
    return unusable
end
take(slots, ARGV[1], tonumber(ARGV[2]))
set_fences(slots, fence, ARGV[8])
local taken = waited and limit or redis.call('hlen', KEYS[1])
return string.format('GIVEN %.0f %d ', fence, taken) .. table.concat(slots, ' ')
