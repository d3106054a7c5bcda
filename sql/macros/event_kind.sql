-- What events of a category on a track are: what the category says; where it is not known, what the track says. Where only the process is named
-- after a device, that counts for events without a category alone: there may be anything on its threads.
event_kind(category, category_kind, track_kind, is_told_by_thread) as
    coalesce(category_kind, case when coalesce(category, '') = '' or track_kind <> 'activity' or is_told_by_thread then track_kind end)
