-- Nodes of a tree in order, as `align_trees` takes them.
tree(place, node, parent_node, alignment_key, is_wrapper) as
    list(struct_pack(node := node, parent_node := parent_node, alignment_key := alignment_key, is_wrapper := is_wrapper) order by place)
